// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/gpu/product.hpp declares.
#pragma once
#include <locus/backend/cuda/products.hpp>  // products_of
#include <locus/backend/cuda/streams.hpp>   // current_card
#include <locus/core/error.hpp>             // shape_error
#include <locus/core/macros.hpp>            // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/product.hpp>     // the declarations

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION runtime::cuda_gemm gemm_of(launch_site const& site,
                                          runtime::cuda_products const& cublas, element type,
                                          kernel::matrix const& c, kernel::matrix const& a,
                                          kernel::matrix const& b, kernel::batch const& batch,
                                          bool adds) {
  runtime::cuda_gemm g;
  g.type = type, g.adds = adds;
  g.m = static_cast<int>(c.columns), g.n = static_cast<int>(c.rows),
  g.k = static_cast<int>(a.columns);
  g.a = b.data, g.lda = static_cast<int>(b.leading()), g.transpose_a = !b.is_row_major();
  g.b = a.data, g.ldb = static_cast<int>(a.leading()), g.transpose_b = !a.is_row_major();
  g.c = c.data, g.ldc = static_cast<int>(c.leading());
  g.batch = static_cast<int>(batch.count);
  g.a_step = batch.b, g.b_step = batch.a, g.c_step = batch.c;
  g.tf32 = g.type == element::f32 && site.tf32;
  g.stream = runtime::cuda_queue_of(*site.on, queue_kind::compute).stream;
  g.workspace = cublas.workspace, g.workspace_bytes = cublas.bytes;
  return g;
}

LOCUS_FUNCTION void start_product(launch_site const& site, element type, kernel::matrix const& c,
                                  kernel::matrix const& a, kernel::matrix const& b,
                                  kernel::batch const& batch, bool adds) {
  if (batch.count == 0 || c.rows == 0 || c.columns == 0) return;
  std::int64_t const limit = INT32_MAX;
  if (c.rows > limit || c.columns > limit || a.columns > limit || a.leading() > limit ||
      b.leading() > limit || c.leading() > limit)
    throw shape_error(
        "locus: a matrix of matmul has more than 2^31 - 1 rows or columns; cut it with slice");
  if (batch.count > limit)
    throw shape_error("locus: a batch has more than 2^31 - 1 products; multiply parts of it");
  runtime::require_card(*site.on);
  runtime::cuda_products const& cublas = runtime::products_of(*site.on);
  if (site.only_measures("cuBLAS")) return;
  runtime::cuda_gemm const g = gemm_of(site, cublas, type, c, a, b, batch, adds);
  runtime::cuda_queue_of(*site.on, queue_kind::compute).note(site);
  runtime::current_card const scope(*site.on);
  runtime::check_cuda(runtime::gpu_api->gemm(cublas.handle, g), "cuBLAS gemm", site.on->name);
}

LOCUS_FUNCTION bool start_product_with_row(launch_site const& site, element type,
                                           kernel::matrix const& c, kernel::matrix const& a,
                                           kernel::matrix const& b,
                                           kernel::product_row const& row) {
  if (!runtime::gpu_api->gemm_with_row) return false;
  std::int64_t const limit = INT32_MAX;
  for (std::int64_t const n : {c.rows, c.columns, a.columns, a.leading(), b.leading(), c.leading()})
    if (n < 1 || n > limit) return false;
  runtime::require_card(*site.on);
  runtime::cuda_products const& cublas = runtime::products_of(*site.on);
  runtime::cuda_gemm g = gemm_of(site, cublas, type, c, a, b, {}, false);
  g.row = row.data, g.relu = row.relu;
  runtime::current_card const scope(*site.on);
  auto const has_kernel = [&](bool asks) {
    bool has = false;
    int const code = runtime::gpu_api->gemm_with_row(cublas.handle, g, asks, &has);
    runtime::check_cuda(code, "cuBLASLt matmul", site.on->name);
    return has;
  };
  if (!has_kernel(true)) return false;
  if (site.only_measures("cuBLASLt")) return true;
  runtime::cuda_queue_of(*site.on, queue_kind::compute).note(site);
  return has_kernel(false);
}

}  // namespace locus::cuda_side

LOCUS_COLD_END
