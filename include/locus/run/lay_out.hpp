// SPDX-License-Identifier: Apache-2.0
// Where each value of a plan lies in one run: in an arena, where it belongs, or set aside.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: a place for each value that a kernel makes, with arenas for temporaries: everything that the plan will need, so
///        that a lack of memory changes nothing
LOCUS_FUNCTION void lay_out(run_state& run);
/// means: places for what transfers bring; copies of tensors that the run does not write lie where devices keep them
LOCUS_FUNCTION void lay_out_arrivals(run_state& run);

// ---- occurrences of one tensor ----
LOCUS_FUNCTION occurrence const* find_occurrence(run_state const& run, transfer const& t);
/// another transfer brings the same: its copy is this one's too
LOCUS_FUNCTION bool brought_by_other(run_state const& run, transfer const& t);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/lay_out.hpp>  // bodies of the functions above
#endif
