// SPDX-License-Identifier: Apache-2.0
// The end of a run: results that lie elsewhere are copied into their destinations, queues are
// joined, and counts are compared with the plan.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: writes results into their destinations, joins the queues, and adds the counts of the run
/// fails: error, in checked builds, if the counts differ from the plan's: a defect of locus
LOCUS_FUNCTION void settle(run_state& run);
/// means: counts the memory for values that are set aside
LOCUS_FUNCTION void foresee_targets(run_state& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/settle.hpp>  // bodies of the functions above
#endif
