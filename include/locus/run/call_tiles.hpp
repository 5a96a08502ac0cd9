// SPDX-License-Identifier: Apache-2.0
// The arguments of a call in a run: its operands and results on one replica, and the rows of the
// batch that this replica has.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/program.hpp>    // frame
#include <locus/work/any_tile.hpp>  // any_tile

LOCUS_LEAN_BEGIN

namespace locus {
namespace detail {
inline namespace LOCUS_RUN_MODE {

/// means: the tile of a value on one replica; stored: false for a value without memory, whose tile
///        has extents alone
/// fails: error, in checked builds, for a value with gaps: a defect of locus
LOCUS_FUNCTION kernel::any_tile call_tile(frame const& f, int value, int replica, bool stored);

/// means: the rows of the batch that one replica has
LOCUS_FUNCTION call_context call_part(frame const& f, short first, int replica);

}  // namespace LOCUS_RUN_MODE
}  // namespace detail
}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/call_tiles.hpp>  // bodies of the functions above
#endif
