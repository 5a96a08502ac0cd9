// SPDX-License-Identifier: Apache-2.0
// cuBLAS, opened at the first product, so that a program starts on machines without it. It needs no
// CUDA header: handles are opaque, constants are copied from cuBLAS.
#pragma once

#include <locus/backend/cuda/real_cublaslt.hpp>  // products_with_row
#include <locus/core/lock.hpp>                   // mutex
#include <locus/core/macros.hpp>                 // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>            // cuda_gemm

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The entry points of cuBLAS; its handles are opaque.
struct cublas_table {
  // codes of this table: not_found, or not_found + a status of cuBLAS
  static constexpr int not_found = 100000, execution_failed = not_found + 13;
  // constants of cuBLAS and CUDA: default math without reduced-precision sums of halves; element
  // types; types of sums; the library chooses the algorithm
  static constexpr int full_sums = 16, complex_float = 4, complex_double = 5, real_half = 2,
                       real_bfloat16 = 14, real_float = 0, real_double = 1, compute_float = 68,
                       compute_double = 70, compute_tf32 = 77, any_algorithm = -1;
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*set_workspace)(void*, void*, std::size_t) = nullptr;
  int (*sgemm)(void*, int, int, int, int, int, float const*, float const*, int, float const*, int,
               float const*, float*, int) = nullptr;
  int (*dgemm)(void*, int, int, int, int, int, double const*, double const*, int, double const*,
               int, double const*, double*, int) = nullptr;
  int (*gemm_of)(void*, int, int, int, int, int, void const*, void const*, int, int, void const*,
                 int, int, void const*, void*, int, int, int, int) = nullptr;
  int (*gemm_of_batch)(void*, int, int, int, int, int, void const*, void const*, int, int,
                       long long, void const*, int, int, long long, void const*, void*, int, int,
                       long long, int, int, int) = nullptr;
  int (*set_math_mode)(void*, int) = nullptr;
  cublaslt_table light;

  bool is_complete() const {
    return create && destroy && set_stream && sgemm && dgemm && gemm_of && gemm_of_batch;
  }
  static cublas_table const& instance();
};

/// means: the default workspace of cuBLAS; with less memory it chooses other algorithms
constexpr std::size_t cublas_workspace(int major) { return std::size_t(major >= 9 ? 32 : 8) << 20; }

/// means: the text of a cuBLAS status, with advice; null for codes of other libraries
constexpr char const* describe_cublas(int code) {
  switch (code - cublas_table::not_found) {
  case 0:
    return "no cuBLAS library (libcublas.so.13 or .12) was found; install it, or name its folder "
           "in "
           "LD_LIBRARY_PATH";
  case 1:
    return "CUBLAS_STATUS_NOT_INITIALIZED: cuBLAS could not begin on this card; look for a driver "
           "that is older than the library, and for memory that is used up";
  case 3:
    return "CUBLAS_STATUS_ALLOC_FAILED: cuBLAS found no memory on the card outside of what locus "
           "holds; lower the memory limit of the device, or leave memory growth on";
  case 7:
    return "CUBLAS_STATUS_INVALID_VALUE: cuBLAS refused a size or an address; this is an error in "
           "locus";
  case 8:
    return "CUBLAS_STATUS_ARCH_MISMATCH: this card cannot compute with that element type; use "
           "float";
  case 11: return "CUBLAS_STATUS_MAPPING_ERROR: cuBLAS could not reach memory of the card";
  case 13: return "CUBLAS_STATUS_EXECUTION_FAILED: a kernel of cuBLAS failed on the card";
  case 14: return "CUBLAS_STATUS_INTERNAL_ERROR: cuBLAS failed inside; update it";
  case 15:
    return "CUBLAS_STATUS_NOT_SUPPORTED: this cuBLAS has no such product on this card; update it, "
           "or "
           "use float";
  case 16: return "CUBLAS_STATUS_LICENSE_ERROR: cuBLAS asks for a licence";
  default:
    return code > cublas_table::not_found && code < cublas_table::not_found + 100
               ? "a status that this locus does not know; update locus"
               : nullptr;
  }
}

/// A cuBLAS handle for one logical device. Stream and workspace are state of the handle: one lock
/// covers setting them and the product, so that several threads may multiply.
class blas_handle {
 public:
  blas_handle(cublas_table const& t, void* raw) : table_(t), raw_(raw), with_row_(t.light) {}
  blas_handle(blas_handle const&) = delete;
  ~blas_handle() { table_.destroy(raw_); }

  /// returns 0, or a code for describe_cublas
  int multiply(runtime::cuda_gemm const& g);

  /// the same with the row of g in one kernel; asks: launches nothing; has: false: there is no such
  /// kernel, and nothing was launched
  int multiply_with_row(runtime::cuda_gemm const& g, bool asks, bool& has);

 private:
  static bool is_double(runtime::cuda_gemm const& g);
  static int type_of(runtime::cuda_gemm const& g);
  static int sums_of(runtime::cuda_gemm const& g);
  int product(runtime::cuda_gemm const& g) const;
  /// a batch, and element types or TF32, by the entry points that take types
  int product_of_types(runtime::cuda_gemm const& g, int ta, int tb) const;
  cublas_table const& table_;
  void* raw_;
  products_with_row with_row_;
  mutex lock_;
};

/// means: makes a blas_handle for the current device; returns 0, or a code for describe_cublas
LOCUS_FUNCTION int make_blas_handle(cublas_table const& t, void** handle);

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cublas.hpp>  // bodies of the functions above
#endif
