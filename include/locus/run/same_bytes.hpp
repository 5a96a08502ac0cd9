// SPDX-License-Identifier: Apache-2.0
// Whether two strided values have a byte in common: two columns of one matrix interleave, and have
// none.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>  // local_value

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: some byte belongs to both values; false also where the search gives up (after 100,000
///        steps)
LOCUS_FUNCTION bool share_bytes(local_value const& a, int rank_a, int bytes_a, local_value const& b,
                                int rank_b, int bytes_b);

}  // namespace locus::detail

namespace locus::internal {

/// means: two indices name one element: an axis has stride 0, or steps along several axes end at one
///        address; of three axes and more false also where the search gives up (after 100,000 steps)
/// cost:  a comparison for each axis, where each stride is longer than all shorter ones reach
LOCUS_FUNCTION bool repeats_elements(std::int64_t const* extents, std::int64_t const* strides,
                                     int rank);

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/same_bytes.hpp>  // bodies of the functions above
#endif
