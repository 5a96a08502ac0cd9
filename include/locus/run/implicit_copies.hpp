// SPDX-License-Identifier: Apache-2.0
// The copy policy: what happens when a step reads a value that lies on another device. to<>, fetch,
// printing, an assignment to a tensor elsewhere and on<Device>(x) of a tensor are explicit copies.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/program.hpp>  // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: warn: one line for each such step of a call site; explicit_only: an error
/// fails: placement_error, before anything has run
[[gnu::cold]] LOCUS_FUNCTION void apply_copy_policy(run_state const& run);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/implicit_copies.hpp>  // bodies of the functions above
#endif
