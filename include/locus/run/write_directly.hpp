// SPDX-License-Identifier: Apache-2.0
// Whether a value may be made in its destination: not where a step still reads these bytes.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: value v may be made in the destination of root k
LOCUS_FUNCTION bool may_write_directly(run_state const& run, int v, int k);
/// means: the destination of root k has the extents of v; false: a reshape lies between them
inline bool is_shape_of(run_state const& run, int v, int k) {
  return run.targets[k].extents == run.whole_of(v);
}
/// means: some destination overlaps with `range`
LOCUS_FUNCTION bool is_written(run_state const& run, byte_range const& range);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/write_directly.hpp>  // bodies of the functions above
#endif
