// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/host/cblas.hpp declares.
#pragma once
#include <dlfcn.h>  // dlopen

#include <locus/core/environment.hpp>   // from_environment
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/engine/host/cblas.hpp>  // the declarations
#include <locus/runtime/variables.hpp>  // blas_or_own
#include <locus/watch/log.hpp>          // warn

namespace locus::host {

LOCUS_FUNCTION one_blas_thread::one_blas_thread(cblas_table const& t)
    : set_(t.set_omp_threads), before_(set_ ? t.get_omp_threads() : 1) {
  if (before_ != 1) set_(1);
}

LOCUS_FUNCTION cblas_table find_cblas() {
  cblas_table t;
  char const* const wanted = from_environment("LOCUS_CBLAS");
  auto take = [&t](void* handle, char const* name) {
    t.sgemm = reinterpret_cast<cblas_table::sgemm_t>(dlsym(handle, "cblas_sgemm"));
    t.dgemm = reinterpret_cast<cblas_table::dgemm_t>(dlsym(handle, "cblas_dgemm"));
    t.cgemm = reinterpret_cast<cblas_table::complex_gemm_t>(dlsym(handle, "cblas_cgemm"));
    t.zgemm = reinterpret_cast<cblas_table::complex_gemm_t>(dlsym(handle, "cblas_zgemm"));
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
    if (kind && kind() == 2) {  // built for OpenMP
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
    // own threads of the library would spin beside the threads of locus: both get slower
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

LOCUS_FUNCTION cblas_table const& cblas() {
  static cblas_table const table = find_cblas();
  return table;
}

LOCUS_FUNCTION matmul_choice matmul_wanted() {
  int const said = runtime::blas_or_own();
  return said < 0    ? matmul_choice::by_kernels
         : said == 0 ? matmul_choice::blas
                     : matmul_choice::own;
}

LOCUS_FUNCTION bool decide_blas() {
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

LOCUS_FUNCTION bool uses_blas() {
  static bool const answer = decide_blas();
  return answer;
}

LOCUS_FUNCTION bool uses_blas_for_vectors() {
  return uses_blas() ||
         (matmul_wanted() != matmul_choice::own && cblas().core_name && cblas().is_single());
}

}  // namespace locus::host
