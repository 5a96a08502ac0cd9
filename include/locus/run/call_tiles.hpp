// SPDX-License-Identifier: Apache-2.0
// What a called operation gets in a run: its operands and results on one replica, and which part of
// the batch that is.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/program.hpp>    // frame
#include <locus/work/any_tile.hpp>  // any_tile

LOCUS_LEAN_BEGIN

namespace locus {
namespace detail {
inline namespace LOCUS_RUN_MODE {

/// means: a value on one replica; stored: it lies in memory, otherwise nobody reads it
/// fails: in checked builds, for a value with gaps: an error in locus
LOCUS_FUNCTION kernel::any_tile call_tile(frame const& f, int value, int replica, bool stored);

/// means: the rows of one replica among those of the batch
LOCUS_FUNCTION call_context call_part(frame const& f, short first, int replica);

}  // namespace LOCUS_RUN_MODE
}  // namespace detail
}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/call_tiles.hpp>  // bodies of the functions above
#endif
