// SPDX-License-Identifier: Apache-2.0
// The checks of a run before it takes memory, and its order behind earlier plans and a stream of
// the user.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: checks extents and destinations, applies the copy policy, and drops kept copies of the
///        bytes that the run writes
/// fails: shape_error; placement_error for an implicit copy under copy_policy::explicit_only.
///        Nothing has run then
LOCUS_FUNCTION void bind(run_state const& run);
/// means: compute queues wait for pending results of earlier plans in operands and destinations
[[gnu::cold]] LOCUS_FUNCTION void meet_operands(run_state const& run);
/// means: later work of the plan's devices comes after the work that the user's stream has now
[[gnu::cold]] LOCUS_FUNCTION void order_behind_guest(run_state& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/bind.hpp>  // bodies of the functions above
#endif
