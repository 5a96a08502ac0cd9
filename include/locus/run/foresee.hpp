// SPDX-License-Identifier: Apache-2.0
// The memory that transfers, results and kernels take besides arenas; a run obtains it before the
// first step.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: counts that memory and obtains it
/// fails: out_of_memory; no step has run then
LOCUS_FUNCTION void foresee(run_state& run);
/// means: counts the memory of transfers and reductions
[[gnu::cold]] LOCUS_FUNCTION void foresee_transfers(run_state& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/foresee.hpp>  // bodies of the functions above
#endif
