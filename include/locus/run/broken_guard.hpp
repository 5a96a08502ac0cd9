// SPDX-License-Identifier: Apache-2.0
// A run whose extents differ where its plan takes them for equal: it is counted and logged, or
// refused.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/plan/data.hpp>    // plan_view, guard
#include <locus/watch/event.hpp>  // call_site

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: counts the run, which takes the second plan; the log has one line for each call site
[[gnu::cold]] LOCUS_FUNCTION void note_unfused(plan_view const& p, guard const& broken,
                                               shape const* extents, call_site site);

/// fails: shape_error, in any case
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_extents(plan_view const& p, guard const& broken,
                                                           shape const* extents);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/broken_guard.hpp>  // bodies of the functions above
#endif
