// SPDX-License-Identifier: Apache-2.0
// cuBLASLt: products with a row and a relu in one kernel. cuBLAS depends on cuBLASLt, so that
// cuBLASLt's functions are found through the library of cuBLAS, in the same version; a handle of
// cuBLAS is also one of cuBLASLt. This header needs no CUDA header.
#pragma once
#include <memory>  // unique_ptr

#include <locus/core/array.hpp>        // dynamic_array
#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/cuda_api.hpp>  // cuda_gemm

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// The layout of cublasLtMatmulHeuristicResult_t: an algorithm that cuBLASLt proposes.
struct cublaslt_answer {
  std::uint64_t algorithm[8]{};
  std::size_t workspace_bytes = 0;
  int status = 0;
  float waves = 0;
  int reserved[4]{};
};

/// The entry points of cuBLASLt; the objects that they make are opaque.
struct cublaslt_table {
  // constants of cuBLASLt: attributes of products and preferences; epilogues; split sums in the
  // type of sums
  static constexpr int transpose_a = 3, transpose_b = 4, epilogue = 7, row_pointer = 8;
  static constexpr int most_workspace = 1, reductions = 3, alignment_a = 5, alignment_d = 8;
  static constexpr std::uint32_t adds_row = 4, adds_row_then_relu = 6, sums_as_computed = 2;
  static constexpr int invalid_value = 7, not_supported = 15;
  int (*make_product)(void**, int compute, int scale) = nullptr;
  int (*end_product)(void*) = nullptr;
  int (*set_product)(void*, int attribute, void const*, std::size_t) = nullptr;
  int (*make_layout)(void**, int type, std::uint64_t rows, std::uint64_t columns,
                     std::int64_t leading) = nullptr;
  int (*end_layout)(void*) = nullptr;
  int (*make_preference)(void**) = nullptr;
  int (*end_preference)(void*) = nullptr;
  int (*set_preference)(void*, int attribute, void const*, std::size_t) = nullptr;
  int (*ask)(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference,
             int wanted, cublaslt_answer*, int* found) = nullptr;
  int (*multiply)(void* handle, void* product, void const* alpha, void const* a, void* a_layout,
                  void const* b, void* b_layout, void const* beta, void const* c, void* c_layout,
                  void* d, void* d_layout, std::uint64_t const* algorithm, void* workspace,
                  std::size_t workspace_bytes, void* stream) = nullptr;

  bool is_complete() const;
  /// means: the functions in a library from dlopen, or in the libraries that it depends on
  static cublaslt_table of_library(void* library);
};

/// One shape of product with a row, and the algorithm that cuBLASLt proposed for it.
class product_with_row {
 public:
  /// constants of cuBLAS for the element type, the type of sums and the type of factors
  struct numbers {
    int type, sums, scale;
  };
  /// alignment of all addresses, so that the algorithm does not depend on them     units: bytes
  static constexpr std::size_t alignment = 16;

  product_with_row(cublaslt_table const& t, void* handle, runtime::cuda_gemm const& g,
                   numbers const& of);
  product_with_row(product_with_row const&) = delete;
  ~product_with_row();

  bool has_kernel() const { return has_; }
  /// means: g has this shape; only addresses and stream may differ
  bool serves(runtime::cuda_gemm const& g) const;
  /// returns 0, or a status of cuBLAS; after a status that says unsupported, has_kernel() is false
  int run(void* handle, runtime::cuda_gemm const& g);

 private:
  /// asks cuBLASLt for an algorithm; without one, has_kernel() is false
  void ask(void* handle);

  cublaslt_table const& table_;
  runtime::cuda_gemm of_;
  void *product_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  std::uint64_t algorithm_[8]{};
  bool has_ = false;
};

/// The shapes of one handle, at most 256: cuBLASLt is asked once for each.
class products_with_row {
 public:
  static constexpr std::size_t most = 256;

  explicit products_with_row(cublaslt_table const& t) : table_(t) {}

  /// means: g by one kernel; asks: launches nothing; has: false: there is no such kernel, and
  ///        nothing was launched
  /// fails: a status of cuBLAS
  int run(void* handle, runtime::cuda_gemm const& g, product_with_row::numbers const& of, bool asks,
          bool& has);

 private:
  static bool is_aligned(runtime::cuda_gemm const& g);
  product_with_row& find(void* handle, runtime::cuda_gemm const& g,
                         product_with_row::numbers const& of);

  cublaslt_table const& table_;
  dynamic_array<std::unique_ptr<product_with_row>> shapes_;
  std::size_t oldest_ = 0;
};

}  // namespace locus::cuda_side

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/real_cublaslt.hpp>  // bodies of the functions above
#endif
