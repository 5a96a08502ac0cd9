// SPDX-License-Identifier: Apache-2.0
// The CBLAS of this machine, found at the first product: the one that the program is linked with,
// else one that dlopen finds. A program starts without any. Threads of the library are switched off
// where it has a function for that: locus' threads share a product, each by calls of its own.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::host {

enum : int { cblas_row_major = 101, cblas_no_trans = 111, cblas_trans = 112 };

/// means: the entry points of the CBLAS in use; null if there is none
struct cblas_table {
  using sgemm_t = void (*)(int, int, int, int, int, int, float, float const*, int, float const*,
                           int, float, float*, int);
  using dgemm_t = void (*)(int, int, int, int, int, int, double, double const*, int, double const*,
                           int, double, double*, int);
  using complex_gemm_t = void (*)(int, int, int, int, int, int, void const*, void const*, int,
                                  void const*, int, void const*, void*, int);
  sgemm_t sgemm = nullptr;
  dgemm_t dgemm = nullptr;
  complex_gemm_t cgemm = nullptr, zgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  int (*get_threads)() = nullptr;
  char const* (*configuration)() = nullptr;
  char const* (*core_name)() = nullptr;  // the core type whose kernels OpenBLAS chose
  char const* library = "none";
  bool was_named = false;  // LOCUS_CBLAS named it
  bool is_ours = false;    // only locus uses it in this process

  // an OpenBLAS built for OpenMP uses as many threads as OpenMP gives the calling thread
  int (*get_omp_threads)() = nullptr;
  void (*set_omp_threads)(int) = nullptr;

  /// means: true: a call can be limited to the calling thread, so that locus' threads share a
  ///        product
  bool is_single() const {
    return set_omp_threads != nullptr || (get_threads && get_threads() == 1);
  }
};

/// While it lives, BLAS calls of this thread run on this thread only; other threads are not
/// affected.
class one_blas_thread {
 public:
  explicit one_blas_thread(cblas_table const& t);
  one_blas_thread(one_blas_thread const&) = delete;
  ~one_blas_thread() {
    if (before_ != 1) set_(before_);
  }

 private:
  void (*set_)(int);
  int before_;
};

/// means: finds a CBLAS: the one of LOCUS_CBLAS (a path, or "none"), else in the program itself,
///        else by the usual library names
LOCUS_FUNCTION cblas_table find_cblas();

LOCUS_FUNCTION cblas_table const& cblas();

enum class matmul_choice : unsigned char { by_kernels, blas, own };
/// means: the value of LOCUS_MATMUL: blas, own, or by_kernels if it is not set
LOCUS_FUNCTION matmul_choice matmul_wanted();

/// means: the processor has AVX-512, but OpenBLAS chose kernels without it: half of the speed
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
/// means: large float products go to the CBLAS: to one that a variable asks for; otherwise to an
///        OpenBLAS with the kernels of this processor, or to MKL, which are known to be faster than
///        the kernels of locus. A library that the program also uses keeps its number of threads;
///        if that is more than one, locus does not use it.
LOCUS_FUNCTION bool decide_blas();
LOCUS_FUNCTION bool uses_blas();
/// means: the same for products with fewer than 4 rows or columns; an OpenBLAS with kernels below
///        the processor is used there too
LOCUS_FUNCTION bool uses_blas_for_vectors();

}  // namespace locus::host

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/cblas.hpp>  // bodies of the functions above
#endif
