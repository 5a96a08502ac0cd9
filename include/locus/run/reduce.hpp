// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas inside a run: the reducer is given the terms of a bucket, and the memory of
// their results.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: a reduction finds the memory that it takes besides its terms and its results. Communicators are made before
///        that memory is counted, and not within a step
[[gnu::cold]] LOCUS_FUNCTION void foresee_terms(run_state& run, transfer const& me);
/// means: all-reduces of one bucket: their terms travel together
[[gnu::cold]] LOCUS_FUNCTION void reduce_bucket(run_state& run, short bucket);
/// means: partial to single or to pieces
[[gnu::cold]] LOCUS_FUNCTION void reduce_apart(run_state& run, transfer const& me);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/reduce.hpp>  // bodies of the functions above
#endif
