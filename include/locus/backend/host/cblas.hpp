// SPDX-License-Identifier: Apache-2.0
// The CBLAS that this machine has, found when the first matrices are multiplied: the one the
// program is linked with, else one that dlopen finds. A program needs none to start. Its own threads
// are never used where that can be said: parts of a product are calls on locus' threads.
#pragma once
#include <dlfcn.h>  // dlopen

#include <locus/core/environment.hpp>   // from_environment
#include <locus/runtime/log.hpp>        // warn
#include <locus/runtime/variables.hpp>  // blas_or_own

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
  int (*get_threads)() = nullptr;
  char const* (*configuration)() = nullptr;
  char const* (*core_name)() = nullptr;  // the processor whose kernels an OpenBLAS chose
  char const* library = "none";
  bool was_named = false;  // by LOCUS_CBLAS
  bool is_ours = false;    // nobody else in this process has it

  // an OpenBLAS on OpenMP takes as many threads as OpenMP gives to the thread that calls it
  int (*get_omp_threads)() = nullptr;
  void (*set_omp_threads)(int) = nullptr;

  /// means: a call can be held on the thread that makes it, so that locus' threads share a product
  bool is_single() const {
    return set_omp_threads != nullptr || (get_threads && get_threads() == 1);
  }
};

/// While it lives, calls of this thread run on it alone; other threads and later calls as before.
class one_blas_thread {
 public:
  explicit one_blas_thread(cblas_table const& t)
      : set_(t.set_omp_threads), before_(set_ ? t.get_omp_threads() : 1) {
    if (before_ != 1) set_(1);
  }
  one_blas_thread(one_blas_thread const&) = delete;
  ~one_blas_thread() {
    if (before_ != 1) set_(before_);
  }

 private:
  void (*set_)(int);
  int before_;
};

/// means: looks for a CBLAS: LOCUS_CBLAS (a path, or "none"), the program itself, then the usual
///        names
inline cblas_table find_cblas() {
  cblas_table t;
  char const* const wanted = from_environment("LOCUS_CBLAS");
  auto take = [&t](void* handle, char const* name) {
    t.sgemm = reinterpret_cast<cblas_table::sgemm_t>(dlsym(handle, "cblas_sgemm"));
    t.dgemm = reinterpret_cast<cblas_table::dgemm_t>(dlsym(handle, "cblas_dgemm"));
    auto const symbol = [&](char const* openblas, char const* mkl) {
      void* const found = dlsym(handle, openblas);
      return found ? found : dlsym(handle, mkl);
    };
    t.set_threads =
        reinterpret_cast<void (*)(int)>(symbol("openblas_set_num_threads", "MKL_Set_Num_Threads"));
    t.get_threads =
        reinterpret_cast<int (*)()>(symbol("openblas_get_num_threads", "MKL_Get_Max_Threads"));
    t.configuration = reinterpret_cast<char const* (*)()>(dlsym(handle, "openblas_get_config"));
    t.core_name = reinterpret_cast<char const* (*)()>(dlsym(handle, "openblas_get_corename"));
    t.library = name;
    auto* const kind = reinterpret_cast<int (*)()>(dlsym(handle, "openblas_get_parallel"));
    if (kind && kind() == 2) {  // OpenMP's
      t.get_omp_threads = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
      t.set_omp_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
      if (!t.get_omp_threads) t.set_omp_threads = nullptr;
    }
    return t.sgemm != nullptr && t.dgemm != nullptr;
  };
  auto open = [&](char const* name) {
    void* const there = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    void* const handle = there ? there : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle || !take(handle, name)) return false;
    t.is_ours = there == nullptr;
    // threads of its own would look out for work beside those of locus, at a part of the speed of either
    if (t.is_ours && t.set_threads && !t.set_omp_threads) t.set_threads(1);
    return true;
  };
  log_line line;
  if (wanted && *wanted) {
    if (std::string_view(wanted) == "none") return {};
    t.was_named = true;
    if (open(wanted)) return t;
    runtime::warn(line << "locus: LOCUS_CBLAS is \"" << shown(wanted).view()
                       << "\", which is no CBLAS, and matmul uses the kernels of locus; write the "
                          "path of a library, none, or unset it");
    return {};
  }
  if (take(RTLD_DEFAULT, "linked into the program")) return t;
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
  int const said = runtime::blas_or_own();
  return said < 0    ? matmul_choice::by_kernels
         : said == 0 ? matmul_choice::blas
                     : matmul_choice::own;
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
///        plain loops. One that the program uses too keeps the program's number of threads, and is
///        left alone if there are several: they would be a second set of threads.
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
  if (!t.is_single()) return false;
  return t.core_name ? !below : std::string_view(t.library).find("mkl") != std::string_view::npos;
}
inline bool uses_blas() {
  static bool const answer = decide_blas();
  return answer;
}
/// means: the same of a matrix times a vector, for which the kernels of locus have no form
inline bool uses_blas_for_vectors() {
  return uses_blas() ||
         (matmul_wanted() != matmul_choice::own && cblas().core_name && cblas().is_single());
}

}  // namespace locus::host
