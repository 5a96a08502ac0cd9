// SPDX-License-Identifier: Apache-2.0
// One copy of a transfer, with its count and its line in the log.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/copy_value.hpp>  // copy_side

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: counts and logs a copy between devices; reused: nothing is moved
[[gnu::cold]] LOCUS_FUNCTION void note_copy(run_state& run, transfer const& t, local_value const& v,
                                            device from, device to, bool reused,
                                            std::string_view why);
/// means: copies one value or piece to another device, or to another place on the same device
[[gnu::cold]] LOCUS_FUNCTION void move_part(run_state& run, transfer const& t, copy_side const& to,
                                            device to_name, copy_side const& from, device from_name,
                                            bool skip);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/move_part.hpp>  // bodies of the functions above
#endif
