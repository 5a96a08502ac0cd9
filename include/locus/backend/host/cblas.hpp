// SPDX-License-Identifier: Apache-2.0
// The CBLAS that this machine has, found when the first matrices are multiplied: the one the
// program is linked with, else one that dlopen finds. A program needs none to start.
#pragma once
#include <dlfcn.h>  // dlopen

#include <locus/runtime/log.hpp>      // warn
#include <locus/runtime/threads.hpp>  // thread_limit

namespace locus::host {

enum : int { cblas_row_major = 101, cblas_no_trans = 111, cblas_trans = 112 };

/// means: the entry points of the CBLAS in use, null where there is none
struct cblas_table {
  using sgemm_t = void (*)(int, int, int, int, int, int, float, float const*, int, float const*,
                           int, float, float*, int);
  using dgemm_t = void (*)(int, int, int, int, int, int, double, double const*, int, double const*,
                           int, double, double*, int);
  sgemm_t sgemm = nullptr;
  dgemm_t dgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  char const* (*configuration)() = nullptr;
  char const* (*core_name)() = nullptr;  // the processor whose kernels an OpenBLAS chose
  char const* library = "none";
  bool was_named = false;  // by LOCUS_CBLAS
};

/// means: looks for a CBLAS: LOCUS_CBLAS (a path, or "none"), the program itself, then the usual
///        names
inline cblas_table find_cblas() {
  cblas_table t;
  char const* const wanted = from_environment("LOCUS_CBLAS");
  auto take = [&t](void* handle, char const* name) {
    t.sgemm = reinterpret_cast<cblas_table::sgemm_t>(dlsym(handle, "cblas_sgemm"));
    t.dgemm = reinterpret_cast<cblas_table::dgemm_t>(dlsym(handle, "cblas_dgemm"));
    t.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "openblas_set_num_threads"));
    t.configuration = reinterpret_cast<char const* (*)()>(dlsym(handle, "openblas_get_config"));
    t.core_name = reinterpret_cast<char const* (*)()>(dlsym(handle, "openblas_get_corename"));
    t.library = name;
    return t.sgemm != nullptr && t.dgemm != nullptr;
  };
  auto open = [&](char const* name) {
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return handle && take(handle, name);
  };
  log_line line;
  if (wanted) {
    if (std::string_view(wanted) == "none") return {};
    t.was_named = true;
    if (open(wanted)) return t;
    runtime::warn(line << "locus: LOCUS_CBLAS names " << shown(wanted).view()
                       << ", which is no CBLAS; matmul uses the kernels of locus");
    return {};
  }
  if (take(RTLD_DEFAULT, "linked into the program")) return t;
  // Two pools of threads that both spin are several times as slow as one: where the program has
  // OpenMP, an OpenBLAS that uses it comes first (Debian's names and Fedora's).
  if (dlsym(RTLD_DEFAULT, "omp_get_max_threads"))
    for (char const* name :
         {"/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
          "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0", "libopenblaso.so.0"})
      if (open(name)) return t;
  for (char const* name :
       {"libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4", "libcblas.so.3", "libblas.so.3"})
    if (open(name)) return t;
  return {};
}

inline cblas_table const& cblas() {
  static cblas_table const table = find_cblas();
  return table;
}

enum class matmul_choice : unsigned char { by_kernels, blas, own };
/// means: what LOCUS_MATMUL says: blas, own or nothing
inline matmul_choice matmul_wanted() {
  char const* const said = from_environment("LOCUS_MATMUL");
  if (!said || !*said) return matmul_choice::by_kernels;
  if (std::string_view(said) == "blas") return matmul_choice::blas;
  if (std::string_view(said) == "own") return matmul_choice::own;
  message text;
  throw configuration_error(text << "locus: LOCUS_MATMUL is \"" << shown(said).view()
                                 << "\"; write blas or own");
}

/// means: this processor has AVX-512, and the BLAS chose kernels that do without: half of its speed
inline bool has_kernels_below_processor(cblas_table const& t) {
#if defined(__x86_64__)
  if (!t.core_name || !__builtin_cpu_supports("avx512bw")) return false;
  std::string_view const core = t.core_name();
  for (char const* name : {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen5"})
    if (core == name) return false;
  return true;
#else
  static_cast<void>(t);
  return false;
#endif
}
/// means: large floating products go to the CBLAS. Which library is quicker than the kernels of
///        locus is known of OpenBLAS with the processor's own kernels and of MKL; others can be
///        plain loops.
inline bool decide_blas() {
  matmul_choice const wanted = matmul_wanted();
  if (wanted == matmul_choice::own || !cblas().sgemm) return false;
  cblas_table const& t = cblas();
  bool const below = has_kernels_below_processor(t);
  if (wanted == matmul_choice::blas || t.was_named) {
    log_line line;
    if (below)
      runtime::warn(line << "locus: " << t.library << " runs its kernels for " << t.core_name()
                         << " on a processor with AVX-512, at half its speed; start with "
                            "OPENBLAS_CORETYPE=SkylakeX, or leave matmul to locus "
                            "(LOCUS_MATMUL=own)");
    return true;
  }
  return t.core_name ? !below : std::string_view(t.library).find("mkl") != std::string_view::npos;
}
inline bool uses_blas() {
  static bool const answer = decide_blas();
  return answer;
}
/// means: the same of a matrix times a vector, for which the kernels of locus have no form
inline bool uses_blas_for_vectors() {
  return uses_blas() || (matmul_wanted() != matmul_choice::own && cblas().core_name);
}

/// The BLAS gets the number of threads that the program asked locus for, and is left alone
/// otherwise.
LOCUS_SHARED_STATE inline void set_blas_threads() {
  static constinit int told = 0;
  int const limit = runtime::limit_of_threads();
  int const wanted = limit > 0 ? limit : runtime::default_threads();
  if (wanted == __atomic_load_n(&told, __ATOMIC_RELAXED) || !cblas().set_threads) return;
  __atomic_store_n(&told, wanted, __ATOMIC_RELAXED);
  if (wanted > 0) cblas().set_threads(wanted);
}

}  // namespace locus::host
