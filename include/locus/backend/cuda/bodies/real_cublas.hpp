// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/real_cublas.hpp declares.
#pragma once
#include <locus/backend/cuda/open_library.hpp>  // open_library
#include <locus/backend/cuda/real_cublas.hpp>   // the declarations
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION cublas_table const& cublas_table::instance() {
  static cublas_table const t = [] {
    cublas_table found;
    void* const handle = open_library({"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
    if (!handle) return found;
    auto const take = [handle](auto& to, char const* name) { take_function(handle, to, name); };
    take(found.create, "cublasCreate_v2");
    take(found.destroy, "cublasDestroy_v2");
    take(found.set_stream, "cublasSetStream_v2");
    take(found.set_workspace, "cublasSetWorkspace_v2");
    take(found.sgemm, "cublasSgemm_v2");
    take(found.dgemm, "cublasDgemm_v2");
    take(found.gemm_of, "cublasGemmEx");
    take(found.gemm_of_batch, "cublasGemmStridedBatchedEx");
    take(found.set_math_mode, "cublasSetMathMode");
    found.light = cublaslt_table::of_library(handle);
    return found;
  }();
  return t;
}

LOCUS_FUNCTION int blas_handle::multiply(runtime::cuda_gemm const& g) {
  lock_guard hold(lock_);
  int status = table_.set_stream(raw_, g.stream);  // this call also resets the workspace
  if (status == 0 && g.workspace && table_.set_workspace)
    status = table_.set_workspace(raw_, g.workspace, g.workspace_bytes);
  if (status == 0) status = product(g);
  return status == 0 ? 0 : cublas_table::not_found + status;
}

LOCUS_FUNCTION int blas_handle::multiply_with_row(runtime::cuda_gemm const& g, bool asks,
                                                  bool& has) {
  lock_guard hold(lock_);
  product_with_row::numbers const of{type_of(g), sums_of(g),
                                     g.type == element::f64 ? cublas_table::real_double
                                                            : cublas_table::real_float};
  int const status = with_row_.run(raw_, g, of, asks, has);
  return status == 0 ? 0 : cublas_table::not_found + status;
}

LOCUS_FUNCTION bool blas_handle::is_double(runtime::cuda_gemm const& g) {
  return g.type == element::f64 || g.type == element::c128;
}

LOCUS_FUNCTION int blas_handle::type_of(runtime::cuda_gemm const& g) {
  return g.type == element::f64    ? cublas_table::real_double
         : g.type == element::f16  ? cublas_table::real_half
         : g.type == element::bf16 ? cublas_table::real_bfloat16
         : g.type == element::c64  ? cublas_table::complex_float
         : g.type == element::c128 ? cublas_table::complex_double
                                   : cublas_table::real_float;
}

LOCUS_FUNCTION int blas_handle::sums_of(runtime::cuda_gemm const& g) {
  return is_double(g) ? cublas_table::compute_double
         : g.tf32     ? cublas_table::compute_tf32
                      : cublas_table::compute_float;
}

LOCUS_FUNCTION int blas_handle::product(runtime::cuda_gemm const& g) const {
  int const ta = g.transpose_a ? 1 : 0, tb = g.transpose_b ? 1 : 0;  // CUBLAS_OP_T, CUBLAS_OP_N
  if ((g.type != element::f32 && g.type != element::f64) || g.tf32 || g.batch != 1)
    return product_of_types(g, ta, tb);
  if (g.type == element::f64) {
    double const one = 1, before = g.adds ? 1 : 0;
    return table_.dgemm(raw_, ta, tb, g.m, g.n, g.k, &one, static_cast<double const*>(g.a), g.lda,
                        static_cast<double const*>(g.b), g.ldb, &before, static_cast<double*>(g.c),
                        g.ldc);
  }
  float const one = 1, before = g.adds ? 1 : 0;
  return table_.sgemm(raw_, ta, tb, g.m, g.n, g.k, &one, static_cast<float const*>(g.a), g.lda,
                      static_cast<float const*>(g.b), g.ldb, &before, static_cast<float*>(g.c),
                      g.ldc);
}

LOCUS_FUNCTION int blas_handle::product_of_types(runtime::cuda_gemm const& g, int ta,
                                                 int tb) const {
  int const type = type_of(g), sums = sums_of(g);
  // real products read the first number, complex ones both
  double const one[] = {1, 0}, before[] = {g.adds ? 1. : 0., 0};
  float const one_float[] = {1, 0}, before_float[] = {g.adds ? 1.f : 0.f, 0};
  void const *alpha = is_double(g) ? static_cast<void const*>(one) : one_float,
             *beta = is_double(g) ? static_cast<void const*>(before) : before_float;
  if (g.batch == 1)
    return table_.gemm_of(raw_, ta, tb, g.m, g.n, g.k, alpha, g.a, type, g.lda, g.b, type, g.ldb,
                          beta, g.c, type, g.ldc, sums, cublas_table::any_algorithm);
  return table_.gemm_of_batch(raw_, ta, tb, g.m, g.n, g.k, alpha, g.a, type, g.lda, g.a_step, g.b,
                              type, g.ldb, g.b_step, beta, g.c, type, g.ldc, g.c_step, g.batch,
                              sums, cublas_table::any_algorithm);
}

LOCUS_FUNCTION int make_blas_handle(cublas_table const& t, void** handle) {
  if (!t.is_complete()) return cublas_table::not_found;
  void* raw = nullptr;
  if (int const status = t.create(&raw); status != 0) return cublas_table::not_found + status;
  if (t.set_math_mode) t.set_math_mode(raw, cublas_table::full_sums);
  return *handle = new blas_handle(t, raw), 0;
}

}  // namespace locus::cuda_side

LOCUS_LEAN_END
