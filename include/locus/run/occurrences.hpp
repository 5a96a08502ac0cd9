// SPDX-License-Identifier: Apache-2.0
// Occurrences of one tensor: the type of x * x does not say that both leaves are one tensor; a run
// compares addresses. Transfers that would bring the same elements to the same place share one
// copy.
#pragma once
#include <locus/core/array.hpp>       // dynamic_array
#include <locus/core/macros.hpp>      // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/builder.hpp>     // local_value
#include <locus/plan/memory.hpp>      // slot
#include <locus/plan/show/facts.hpp>  // tally

LOCUS_COLD_BEGIN

namespace locus::detail {

/// A transfer that shares a copy. first: the transfer that makes the copy; memory: the transfer
/// whose slot holds it.
struct occurrence {
  short transfer = -1, first = -1, memory = -1;
};

/// means: found = the transfers of a run that share copies, each copy in a slot that is free until
///        its last reader
/// cost:  a comparison of addresses for each pair of transfers
LOCUS_FUNCTION void find_occurrences(plan_view const& p, local_value const* values, int replicas,
                                     shape const* extents, array_view<slot> memory_slots,
                                     dynamic_array<occurrence>& found);

/// means: the counts of a run: those of the plan, with shared copies counted as reused
LOCUS_FUNCTION tally count_run(plan_view const& p, local_value* values, int replicas,
                               shape const* extents, void const* const* objects,
                               array_view<slot> memory_slots);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/occurrences.hpp>  // bodies of the functions above
#endif
