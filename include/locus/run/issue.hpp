// SPDX-License-Identifier: Apache-2.0
// The actions of a plan, in order: kernels, transfers, and by way of run/reduce.hpp reductions.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void issue(run_state& run);
/// means: the values, or pieces, of one transfer are copied, or found where another transfer brought them
[[gnu::cold]] LOCUS_FUNCTION void move_value(run_state& run, transfer const& me);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/issue.hpp>  // bodies of the functions above
#endif
