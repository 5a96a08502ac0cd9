// SPDX-License-Identifier: Apache-2.0
// Reductions over replicas inside a run: these functions give the reducer of collective/reduce.hpp
// the terms and the memory of the results.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: counts the memory that a reduction takes besides its terms and results. It makes the
///        communicators first, so that no step makes them
[[gnu::cold]] LOCUS_FUNCTION void foresee_terms(run_state& run, transfer const& me);
/// means: runs the all-reduces of one bucket as one collective
[[gnu::cold]] LOCUS_FUNCTION void reduce_bucket(run_state& run, short bucket);
/// means: reduces a partial value to a single one or to pieces
[[gnu::cold]] LOCUS_FUNCTION void reduce_apart(run_state& run, transfer const& me);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/reduce.hpp>  // bodies of the functions above
#endif
