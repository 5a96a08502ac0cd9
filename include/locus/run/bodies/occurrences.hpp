// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/occurrences.hpp declares.
#pragma once
#include <locus/run/occurrences.hpp>  // the declarations
#include <locus/run/values.hpp>       // same_layout

LOCUS_COLD_BEGIN

namespace locus::detail {

struct occurrence_finder {
  plan_view const& p;
  local_value const* values;
  int replicas;
  shape const* extents;
  array_view<slot> memory_slots;

  slot const& slot_of(short t) const { return memory_slots[p.steps.count + t]; }
  local_value const& source(short t, int r) const {
    return values[p.transfers[t].from * replicas + r];
  }
  /// means: t copies from a tensor into a temporary, and no step writes the copy
  bool may_share(short t) const {
    transfer const& me = p.transfers[t];
    slot const& s = slot_of(t);
    return me.how != transfer_kind::none && !me.arrives.devices.is_over_ranks() &&
           !p.steps[me.from].where.devices.is_over_ranks() && me.how != transfer_kind::slice &&
           !is_reduction(me.how) && s.bytes > 0 && !s.is_result && s.in_place_of < 0 &&
           p.steps[memory_of(p, me.from)].kind == step_kind::leaf;
  }
  bool same(short t, short u) const {
    transfer const &x = p.transfers[t], &y = p.transfers[u];
    if (x.how != y.how || !may_share(t) || !may_share(u)) return false;
    step const &a = p.steps[x.from], &b = p.steps[y.from];
    int const rank = extents[x.from].rank;
    if (rank != extents[y.from].rank || a.type != b.type || a.element_bytes != b.element_bytes ||
        !(a.where == b.where) || !(x.arrives == y.arrives))
      return false;
    for (int r = 0; r < a.where.local_count(); ++r)
      if (!same_layout(source(t, r), source(u, r), rank)) return false;
    return true;
  }
  bool is_found(short t, dynamic_array<occurrence> const& found) const {
    for (occurrence const& o : found)
      if (o.transfer == t) return true;
    return false;
  }
  /// means: adds t and the later transfers of the same elements, if one slot is free long enough
  ///        for
  ///        all of them
  [[gnu::cold]] void add_all(short t, dynamic_array<occurrence>& found) const {
    if (is_found(t, found)) return;
    std::size_t const begin = found.size();
    short first = t, last = 0;
    for (short u = t; u < p.transfers.count; ++u) {
      if (u != t && !same(t, u)) continue;
      found.push({u, -1, -1});
      if (slot_of(u).made < slot_of(first).made) first = u;
      if (slot_of(u).last_read > last) last = slot_of(u).last_read;
    }
    short memory = -1;
    for (std::size_t k = begin; k < found.size() && memory < 0; ++k)
      if (lives_alone(found[k].transfer, slot_of(first).made, last, found, begin))
        memory = found[k].transfer;
    if (memory < 0) return found.resize(begin);  // each keeps its own copy
    for (std::size_t k = begin; k < found.size(); ++k)
      found[k].first = first, found[k].memory = memory;
  }
  /// means: no value outside of the group uses the memory of t between the two actions
  bool lives_alone(short t, short begin, short end, dynamic_array<occurrence> const& group,
                   std::size_t group_begin) const {
    slot const& mine = slot_of(t);
    device_list const& here = p.transfers[t].arrives.devices;
    for (short v = 0; v < memory_slots.count; ++v) {
      slot const& other = memory_slots[v];
      bool ours = false;
      for (std::size_t k = group_begin; k < group.size(); ++k)
        ours = ours || v == p.steps.count + group[k].transfer;
      if (ours || other.bytes == 0 || other.is_result || other.made > end ||
          other.last_read < begin)
        continue;
      bool const apart = other.offset + round_up(other.bytes) <= mine.offset ||
                         mine.offset + round_up(mine.bytes) <= other.offset;
      device_list const& there = v < p.steps.count ? p.steps[v].where.devices
                                                   : p.transfers[v - p.steps.count].arrives.devices;
      for (int i = 0; i < here.size() && !apart; ++i)
        if (there.contains(here[i])) return false;
    }
    return true;
  }
};

LOCUS_FUNCTION void find_occurrences(plan_view const& p, local_value const* values, int replicas,
                                     shape const* extents, array_view<slot> memory_slots,
                                     dynamic_array<occurrence>& found) {
  occurrence_finder const in{p, values, replicas, extents, memory_slots};
  for (short t = 0; t < p.transfers.count; ++t)
    for (short u = static_cast<short>(t + 1); u < p.transfers.count; ++u)
      if (in.same(t, u)) {
        in.add_all(t, found);
        break;
      }
}

/// means: moves the counts of shared copies from `copies` to `reused`
LOCUS_FUNCTION void count_reused(tally& t, plan_view const& p, shape const* extents,
                                 dynamic_array<occurrence> const& found) {
  for (occurrence const& o : found) {
    if (o.transfer == o.first) continue;
    transfer const& how = p.transfers[o.transfer];
    step const& s = p.steps[how.from];
    tally saved;
    count_transfer(saved, s.where, how, extents[how.from], s.element_bytes);
    t.copies -= saved.copies, t.bytes_moved -= saved.bytes_moved;
    t.reused += saved.copies, t.bytes_reused += saved.bytes_moved;
  }
}

LOCUS_FUNCTION tally count_run(plan_view const& p, local_value* values, int replicas,
                               shape const* extents, void const* const* objects,
                               array_view<slot> memory_slots) {
  tally t = count_plan(p, extents);
  if (p.transfers.count < 2) return t;
  lay_out(p, memory_slots, extents);
  dynamic_array<local_layout> layouts;
  layouts.resize(std::size_t(p.steps.count) * std::size_t(replicas));
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (!s.is_view() || s.region >= 0 || p.steps[memory_of(p, i)].kind != step_kind::leaf) continue;
    for (int r = 0; r < s.where.local_count(); ++r) {
      int const at = i * replicas + r;
      values[at] = view_value(p, i, r, values[p.operands(s)[0].from * replicas + r], extents,
                              objects, layouts[static_cast<std::size_t>(at)]);
    }
  }
  dynamic_array<occurrence> found;
  find_occurrences(p, values, replicas, extents, memory_slots, found);
  count_reused(t, p, extents, found);
  return t;
}

}  // namespace locus::detail

LOCUS_COLD_END
