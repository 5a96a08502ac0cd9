// SPDX-License-Identifier: Apache-2.0
// The handle and the workspace of cuBLAS for each logical device.
#pragma once
#include <locus/backend/cuda/queue.hpp>  // cuda_products
#include <locus/core/macros.hpp>         // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION

LOCUS_COLD_BEGIN

namespace locus::runtime {

namespace detail {
LOCUS_SHARED_STATE inline constinit mutex products_lock;

[[gnu::cold]] LOCUS_FUNCTION void open_products(logical_device& d);
}  // namespace detail

/// means: the cuBLAS handle of logical device d, made at the first call, with workspace from d's
///        memory; two logical devices of a card never share a handle
/// cost:  one load; the first call initialises cuBLAS and allocates the workspace that cuBLAS
///        wants, at most 1/16 of d's limit; if d has no room, cuBLAS allocates its own, which locus
///        does not count
/// fails: device_error or device_lost, if cuBLAS is missing or fails to initialise
LOCUS_FUNCTION cuda_products& products_of(logical_device& d);

}  // namespace locus::runtime

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/cuda/bodies/products.hpp>  // bodies of the functions above
#endif
