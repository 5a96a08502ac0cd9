// SPDX-License-Identifier: Apache-2.0
// Issues the actions of a plan in order: kernels, transfers, and reductions (run/reduce.hpp).
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: issues all actions; on devices with queues the work runs later
LOCUS_FUNCTION void issue(run_state& run);
/// means: copies the values or pieces of one transfer, or takes the copies that another transfer
///        made; a reduction goes to run/reduce.hpp
[[gnu::cold]] LOCUS_FUNCTION void move_value(run_state& run, transfer const& me);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/issue.hpp>  // bodies of the functions above
#endif
