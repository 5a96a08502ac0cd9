// SPDX-License-Identifier: Apache-2.0
// Occurrences of one tensor: a type cannot know that both leaves of x * x are the same, a run can.
// What several transfers of a run would bring alike, to the same place, is brought once.
#pragma once
#include <locus/core/array.hpp>       // dynamic_array
#include <locus/core/macros.hpp>      // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>     // local_value
#include <locus/plan/memory.hpp>      // slot
#include <locus/plan/show/facts.hpp>  // tally

LOCUS_COLD_BEGIN

namespace locus::detail {

/// A transfer that shares its copy: the one that makes it, and the one in whose memory it lies.
struct occurrence {
  short transfer = -1, first = -1, memory = -1;
};

/// means: which transfers of a run bring the same, and where that may lie until the last has read it
/// cost:  a comparison of addresses for each pair of transfers
LOCUS_FUNCTION void find_occurrences(plan_view const& p, local_value const* values, int replicas,
                                     shape const* extents, array_view<slot> slots,
                                     dynamic_array<occurrence>& found);

/// means: what a run will do: the plan, less what occurrences save
LOCUS_FUNCTION tally count_run(plan_view const& p, local_value* values, int replicas,
                               shape const* extents, void const* const* objects,
                               array_view<slot> slots);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/occurrences.hpp>  // bodies of the functions above
#endif
