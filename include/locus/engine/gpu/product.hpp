// SPDX-License-Identifier: Apache-2.0
// A matrix product by cuBLAS on the compute stream of a device; with a row, by cuBLASLt.
#pragma once
#include <locus/backend/cuda/queue.hpp>   // cuda_products
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/launch_site.hpp>  // launch_site
#include <locus/runtime/cuda_api.hpp>     // cuda_gemm
#include <locus/work/matrix.hpp>          // matrix, batch

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

/// means: the arguments of cuBLAS for the product, with the compute stream and the device's
///        workspace
LOCUS_FUNCTION runtime::cuda_gemm gemm_of(launch_site const& site,
                                          runtime::cuda_products const& cublas, element type,
                                          kernel::matrix const& c, kernel::matrix const& a,
                                          kernel::matrix const& b, kernel::batch const& batch,
                                          bool adds);

/// means: c = a b, or c += a b, or a batch of such products; cuBLAS is column-major: c' = b' a'.
///        While workspace is measured, only opens cuBLAS
/// shape: c is row-major; a and b fit BLAS
/// fails: shape_error, for more rows, columns or products than an int counts; device_error,
///        device_lost
LOCUS_FUNCTION void start_product(launch_site const& site, element type, kernel::matrix const& c,
                                  kernel::matrix const& a, kernel::matrix const& b,
                                  kernel::batch const& batch = {}, bool adds = false);

/// means: c = a b + row, then relu if row.relu, by one kernel of cuBLASLt; false: it has none for
///        these operands, and nothing was launched
/// shape: c is row-major; a and b fit BLAS; row has a value for each column of c; a, b and row do
///        not overlap c
/// cost:  cuBLASLt is asked once for each shape of a device
/// fails: device_error, device_lost
LOCUS_FUNCTION bool start_product_with_row(launch_site const& site, element type,
                                           kernel::matrix const& c, kernel::matrix const& a,
                                           kernel::matrix const& b, kernel::product_row const& row);

}  // namespace locus::cuda_side

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/engine/gpu/bodies/product.hpp>  // bodies of the functions above
#endif
