// SPDX-License-Identifier: Apache-2.0
// The CBLAS that this machine has, found when the first matrices are multiplied: the one the
// program is linked with, else one that dlopen finds. A program needs none to start. Its own threads
// are never used where that can be said: parts of a product are calls on locus' threads.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

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
  explicit one_blas_thread(cblas_table const& t);
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
LOCUS_FUNCTION cblas_table find_cblas();

LOCUS_FUNCTION cblas_table const& cblas();

enum class matmul_choice : unsigned char { by_kernels, blas, own };
/// means: what LOCUS_MATMUL says: blas, own or nothing
LOCUS_FUNCTION matmul_choice matmul_wanted();

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
LOCUS_FUNCTION bool decide_blas();
LOCUS_FUNCTION bool uses_blas();
/// means: the same of a matrix times a vector, for which the kernels of locus have no form
LOCUS_FUNCTION bool uses_blas_for_vectors();

}  // namespace locus::host

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/cblas.hpp>  // bodies of the functions above
#endif
