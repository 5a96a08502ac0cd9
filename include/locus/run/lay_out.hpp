// SPDX-License-Identifier: Apache-2.0
// The place of each value of a plan in one run: in an arena, in its destination, in a kept copy, or
// in memory aside.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: gives each value a place, and obtains arenas for temporaries
/// fails: out_of_memory; no step has run then
LOCUS_FUNCTION void lay_out(run_state& run);
/// means: gives each value that a transfer brings a place; a copy of a tensor that the run does not
///        write lies in a kept copy
LOCUS_FUNCTION void lay_out_arrivals(run_state& run);

// ---- occurrences of one tensor ----
/// null: t shares no copy
LOCUS_FUNCTION occurrence const* find_occurrence(run_state const& run, transfer const& t);
/// means: t uses the copy that another transfer makes
LOCUS_FUNCTION bool brought_by_other(run_state const& run, transfer const& t);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/lay_out.hpp>  // bodies of the functions above
#endif
