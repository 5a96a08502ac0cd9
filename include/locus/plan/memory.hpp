// SPDX-License-Identifier: Apache-2.0
// The memory of a plan's temporaries: one arena for each device, allocated before the first step.
#pragma once
#include <locus/core/bytes.hpp>   // round_up
#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN
#include <locus/plan/data.hpp>    // plan_view

LOCUS_LEAN_BEGIN

namespace locus {

/// A value of the plan: step i is value i; the result of transfer t is value steps + t.
struct slot {
  std::int64_t bytes = 0;           // of the largest piece; 0: not a temporary
  std::int64_t offset = 0;          // in the arena of each device it lies on
  short made = -1, last_read = -1;  // numbers of actions
  short in_place_of = -1;           // shares the memory of that value
  bool is_result = false;           // lies in the memory of a destination
  friend constexpr bool operator==(slot const&, slot const&) = default;
};

/// means: bytes of the largest piece of a value at a place; dyn while an extent is dynamic
constexpr std::int64_t local_bytes(shape const& extents, int element_bytes, place const& where) {
  if (!extents.is_static()) return dyn;
  if (!where.is_sharded()) return extents.size() * element_bytes;
  place const whole = where.window(0, 0);  // no piece of a window is larger
  std::int64_t n = element_bytes;
  for (int a = 0; a < extents.rank; ++a)
    n *=
        a == where.axis ? whole.piece_size(extents.extent[a] + where.span(), 0) : extents.extent[a];
  return n;
}

namespace detail {

struct memory_planner {
  plan_view const& p;
  array_view<slot> memory_slots;  // [steps + transfers]
  shape const* extents;           // [step]: the extents at run time, or those of the steps

  constexpr bool is_temporary_step(short i) const {
    return p.steps[i].region >= 0 && (p.steps[i].stored || lies_aside(i));
  }
  /// a product that is smaller than the result of its kernel needs memory of its own
  constexpr bool lies_aside(short i) const {
    return is_product_with_row(p, i) && !(extents[i] == extents[p.steps[i].region]);
  }
  constexpr short value_of(edge const& e) const {
    return e.by >= 0 ? static_cast<short>(p.steps.count + e.by) : memory_of(p, e.from);
  }
  constexpr void read(short value, short at) {
    slot& s = memory_slots[value];
    if (at > s.last_read) s.last_read = at;
  }
  /// the number of edges, roots and transfers that read step i's memory
  constexpr int readers_of(short i) const {
    int n = 0;
    for (step const& s : p.steps)
      for (edge const& e : p.operands(s))
        n += e.by < 0 && memory_of(p, e.from) == i && !s.is_sibling() &&
             !(s.is_view() && s.region < 0);
    for (transfer const& t : p.transfers)
      n += t.how != transfer_kind::none && memory_of(p, t.from) == i;
    for (root const& r : p.roots) n += r.by < 0 && memory_of(p, r.from) == i;
    return n;
  }

  /// the step that computes these elements, through reshapes and added axes
  constexpr short elements_of(short i) const {
    auto only_named_otherwise = [&](step const& s) {
      return s.region < 0 && (s.kind == step_kind::reshape || s.kind == step_kind::expand);
    };
    while (only_named_otherwise(p.steps[i])) i = p.operands(p.steps[i])[0].from;
    return i;
  }

  constexpr void find_sizes() {
    for (short i = 0; i < p.steps.count; ++i) {
      step const& s = p.steps[i];
      if (is_temporary_step(i))
        memory_slots[i].bytes = local_bytes(extents[i], s.element_bytes, s.where);
    }
    for (short t = 0; t < p.transfers.count; ++t) {
      transfer const& me = p.transfers[t];
      step const& s = p.steps[me.from];
      slot& to = memory_slots[p.steps.count + t];
      bool const no_traffic =
          me.how == transfer_kind::slice || me.how == transfer_kind::halo ||
          (me.how == transfer_kind::first_replica && s.where.devices.contains(me.arrives.at(0)));
      if (!no_traffic)
        to.bytes = local_bytes(extents[me.from], s.element_bytes, me.arrives);
      else
        to.in_place_of = memory_of(p, me.from);
      // an all-reduce that is the only reader of its terms overwrites them
      short const terms = elements_of(me.from);
      if (me.how == transfer_kind::all_reduce && is_temporary_step(terms) && readers_of(terms) == 1)
        to.in_place_of = terms, to.bytes = 0;
    }
    for (root const& r : p.roots) {
      short const v = r.by >= 0 ? static_cast<short>(p.steps.count + r.by) : r.from;
      if (r.by < 0 && !is_temporary_step(r.from))
        continue;  // a leaf or a view: copied into the destination
      memory_slots[v].is_result = true;
      // terms lie where their sum will lie, in the destination; not if the destination takes a part
      // of them
      bool const sums = r.by >= 0 && p.transfers[r.by].how == transfer_kind::all_reduce;
      if (sums && memory_slots[v].in_place_of >= 0)
        memory_slots[memory_slots[v].in_place_of].is_result = true;
    }
  }
  constexpr void find_lifetimes() {
    for (short a = 0; a < p.actions.count; ++a) {
      action const& act = p.actions[a];
      if (act.kind == action_kind::launch) {
        for (short i = 0; i < p.steps.count; ++i) {
          if (p.steps[i].region != act.what) continue;
          if (is_temporary_step(i)) memory_slots[i].made = a, read(i, a);
          for (edge const& e : p.operands(p.steps[i]))
            if (p.steps[e.from].region != act.what || p.steps[e.from].stored) read(value_of(e), a);
        }
        continue;
      }
      for (short t = 0; t < p.transfers.count; ++t) {
        transfer const& me = p.transfers[t];
        bool const mine = act.kind == action_kind::transfer ? t == act.what : me.bucket == act.what;
        if (!mine) continue;
        short const v = static_cast<short>(p.steps.count + t);
        memory_slots[v].made = a, read(v, a), read(memory_of(p, me.from), a);
      }
    }
    for (root const& r : p.roots)  // results are written after the last action
      read(r.by >= 0 ? static_cast<short>(p.steps.count + r.by) : memory_of(p, r.from),
           static_cast<short>(p.actions.count));
    for (short v = 0; v < memory_slots.count; ++v)
      if (memory_slots[v].in_place_of >= 0)
        read(memory_slots[v].in_place_of, memory_slots[v].last_read);
  }
  constexpr place const& place_of(short v) const {
    return v < p.steps.count ? p.steps[v].where : p.transfers[v - p.steps.count].arrives;
  }
  constexpr bool meet(short a, short b) const {
    slot const &first = memory_slots[a], &second = memory_slots[b];
    if (first.made > second.last_read || second.made > first.last_read) return false;
    device_list const &here = place_of(a).devices, &there = place_of(b).devices;
    if (here == there) return true;
    for (int i = 0; i < here.size(); ++i)
      if (there.contains(here[i])) return true;
    return false;
  }
  constexpr bool in_arena(short v) const {
    return memory_slots[v].bytes > 0 && !memory_slots[v].is_result;
  }
  /// first fit: the lowest offset that overlaps no other value with an overlapping lifetime
  constexpr void find_offsets() {
    for (short v = 0; v < memory_slots.count; ++v) {
      if (!in_arena(v)) continue;
      std::int64_t const bytes = round_up(memory_slots[v].bytes);
      std::int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (short o = 0; o < v; ++o) {
          slot const& other = memory_slots[o];
          if (at + bytes <= other.offset || other.bytes <= at - other.offset) continue;  // apart
          if (!in_arena(o) || !meet(o, v)) continue;
          at = other.offset + round_up(other.bytes), moved = true;
        }
      }
      memory_slots[v].offset = at;
    }
  }
};

}  // namespace detail

/// means: sets size, lifetime and offset of every temporary, given the extents of every step
constexpr void lay_out(plan_view const& p, array_view<slot> memory_slots, shape const* extents) {
  detail::memory_planner m{p, memory_slots, extents};
  m.find_sizes();
  m.find_lifetimes();
  m.find_offsets();
}

/// means: bytes of the plan's arena on a device
constexpr std::int64_t arena_bytes(plan_view const& p, array_view<slot> memory_slots, device d) {
  detail::memory_planner const m{p, memory_slots, nullptr};
  std::int64_t peak = 0;
  for (short v = 0; v < memory_slots.count; ++v)
    if (m.in_arena(v) && m.place_of(v).devices.contains(d)) {
      std::int64_t const end = memory_slots[v].offset + round_up(memory_slots[v].bytes);
      if (end > peak) peak = end;
    }
  return peak;
}

}  // namespace locus

LOCUS_LEAN_END
