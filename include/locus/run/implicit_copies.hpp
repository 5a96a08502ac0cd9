// SPDX-License-Identifier: Apache-2.0
// The copy policy: a step that reads a value of another device makes an implicit copy, which is
// silent, warned of or refused. to<>, fetch, printing, an assignment to a tensor elsewhere and
// on<Device>(x) of a tensor are explicit copies.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/program.hpp>  // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: under `warn`, writes one line for each operand that is copied so, once for each call site
/// fails: placement_error, under `explicit_only`; nothing has run then
[[gnu::cold]] LOCUS_FUNCTION void apply_copy_policy(run_state const& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/implicit_copies.hpp>  // bodies of the functions above
#endif
