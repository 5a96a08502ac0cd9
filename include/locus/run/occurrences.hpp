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
class occurrence_finder {
 public:
  occurrence_finder(plan_view const& p, local_value const* values, int replicas,
                    shape const* extents, array_view<slot> slots)
      : p_(p), values_(values), replicas_(replicas), extents_(extents), slots_(slots) {}

  /// cost: a comparison of addresses for each pair of transfers
  void find(dynamic_array<occurrence>& found) const;

 private:
  slot const& slot_of(short t) const { return slots_[p_.steps.count + t]; }
  local_value const& source(short t, int r) const {
    return values_[p_.transfers[t].from * replicas_ + r];
  }
  /// from a tensor into a temporary: what a plan does not write
  bool may_share(short t) const;
  bool same(short t, short u) const;
  bool is_found(short t, dynamic_array<occurrence> const& found) const;
  /// t and all that bring the same behind it
  [[gnu::cold]] void add_all(short t, dynamic_array<occurrence>& found) const;
  /// the memory of t is nobody else's between two actions
  bool lives_alone(short t, short begin, short end, dynamic_array<occurrence> const& group,
                   std::size_t group_begin) const;

  plan_view const& p_;
  local_value const* values_;
  int replicas_;
  shape const* extents_;
  array_view<slot> slots_;
};

/// means: moves what occurrences save from `copies` to `reused`
LOCUS_FUNCTION void count_reused(tally& t, plan_view const& p, shape const* extents,
                                 dynamic_array<occurrence> const& found);

/// means: what a run will do: the plan, less what occurrences save
LOCUS_FUNCTION tally count_run(plan_view const& p, local_value* values, int replicas,
                               shape const* extents, void const* const* objects,
                               array_view<slot> slots);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/occurrences.hpp>  // bodies of the functions above
#endif
