// SPDX-License-Identifier: Apache-2.0
// What cuBLAS keeps for each logical device: a handle, and memory for its kernels.
#pragma once
#include <locus/backend/cuda/queue.hpp>  // cuda_products
#include <locus/core/macros.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex products_lock;

[[gnu::cold]] LOCUS_FUNCTION void open_products(logical_device& d);
}  // namespace detail

/// means: the handle of cuBLAS that is d's alone, with memory that is counted as d's; made at its first
///        use, so that products of two devices of one card never meet in one handle
/// cost:  a load; the first time the workspace that cuBLAS wants, at most a sixteenth of d's limit (where
///        there is no room for it cuBLAS uses its own, which nobody counts), and what cuBLAS takes to begin
/// fails: device_lost, where there is no cuBLAS or it cannot begin
LOCUS_FUNCTION cuda_products& products_of(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/products.hpp>  // bodies of the functions above
#endif
