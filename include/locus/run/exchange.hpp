// SPDX-License-Identifier: Apache-2.0
// Exchanges of halos: rows of a tensor's pieces into the margins of their neighbours.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: some launch of the plan is in parts: each launch then waits itself for rows that it reads
[[gnu::cold]] inline bool is_in_parts(plan_view const& p) {
  for (action const& act : p.actions)
    if (act.in_parts()) return true;
  return false;
}
/// means: brings the rows of neighbours into the margins of a tensor, unless they are there. Threads
///        that read one tensor take turns: the second one finds its margins valid
[[gnu::cold]] LOCUS_FUNCTION void exchange_halo(run_state& run, transfer const& me);
/// means: the next work of d runs after the rows that are on their way to its margins
[[gnu::cold]] LOCUS_FUNCTION void wait_for_halos(run_state const& run, logical_device& d);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/exchange.hpp>  // bodies of the functions above
#endif
