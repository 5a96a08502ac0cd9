// SPDX-License-Identifier: Apache-2.0
// What a run checks before it takes memory, and what it comes behind: earlier plans, a stream of the user's.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: the plan may run with these extents and destinations; copies of what it writes are out of date
/// fails: shape_error, and placement_error where nobody wrote a copy that is needed: nothing has run
LOCUS_FUNCTION void bind(run_state const& run);
/// means: compute queues go on behind what plans before this one left under way in operands and destinations
[[gnu::cold]] LOCUS_FUNCTION void meet_operands(run_state const& run);
/// means: the devices of the plan go on behind the stream of the user's
[[gnu::cold]] LOCUS_FUNCTION void order_behind_guest(run_state& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/bind.hpp>  // bodies of the functions above
#endif
