// SPDX-License-Identifier: Apache-2.0
// Whether two values at strides of their own have a byte in common: columns of one matrix lie between
// one another and have none.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>  // local_value

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION bool share_bytes(local_value const& a, int rank_a, int bytes_a, local_value const& b,
                                int rank_b, int bytes_b);

/// means: one element stands at two indices: an axis of stride 0, or two axes that lead to one place
LOCUS_FUNCTION bool repeats_elements(std::int64_t const* extents, std::int64_t const* strides,
                                     int rank);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/same_bytes.hpp>  // bodies of the functions above
#endif
