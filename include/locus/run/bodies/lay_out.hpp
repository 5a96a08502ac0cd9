// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/lay_out.hpp declares.
#pragma once
#include <locus/run/copy_value.hpp>      // goes_between_ranks
#include <locus/run/lay_out.hpp>         // the declarations
#include <locus/run/write_directly.hpp>  // may_write_directly, is_written

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

inline bool on_host(device d) { return runtime::find_device(d).is_host(); }

LOCUS_FUNCTION bool all_on_host(place const& p) {
  for (int r = 0; r < p.local_count(); ++r)
    if (!on_host(p.at(r))) return false;
  return true;
}

LOCUS_FUNCTION occurrence const* find_occurrence(run_state const& run, transfer const& t) {
  for (occurrence const& o : run.shared)
    if (&t - run.plan.transfers.first == o.transfer) return &o;
  return nullptr;
}

LOCUS_FUNCTION bool brought_by_other(run_state const& run, transfer const& t) {
  occurrence const* const o = find_occurrence(run, t);
  return o && o->first != o->transfer;
}

/// means: the purpose of an arena, for the message of out_of_memory
[[gnu::cold]] LOCUS_FUNCTION message describe_temporaries(run_state const& run, device name) {
  int largest = -1;
  for (int v = 0; v < run.memory_slots.count; ++v)
    if (!run.memory_slots[v].is_result && run.place_of(v).devices.contains(name) &&
        (largest < 0 || run.memory_slots[v].bytes > run.memory_slots[largest].bytes))
      largest = v;
  short const i = run.step_of(largest);
  message text;
  text << "the temporaries of a plan, most of all those of step " << int(i) << " ("
       << run.plan.steps[i].name << ")";
  return text;
}

LOCUS_FUNCTION void open_arena(run_state& run, device name) {
  logical_device& d = runtime::find_device(name);
  if (run.memory.has_arena(name)) return;
  std::int64_t const bytes = arena_bytes(run.plan, run.memory_slots, name);
  if (bytes <= d.memory.limit - __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED))
    run.memory.add_arena(name, d, bytes, "the temporaries of a plan");
  else
    run.memory.add_arena(name, d, bytes, describe_temporaries(run, name).view());
}

/// the root whose destination value v may be made in; -1: none
LOCUS_FUNCTION int root_of_value(run_state const& run, int v) {
  for (int k = 0; k < run.plan.roots.count; ++k) {
    int const ends = run.value_of(run.plan.roots[k]);
    if ((ends == v || run.memory_slots[ends].in_place_of == v) && run.memory_slots[v].is_result)
      return k;
  }
  return -1;
}

LOCUS_FUNCTION std::int64_t offset_of(run_state const& run, int v) {
  occurrence const* const o = run.is_step(v) ? nullptr : find_occurrence(run, run.transfer_of(v));
  return run.memory_slots[o ? run.plan.steps.count + o->memory : v].offset;
}

/// means: gives a value that a kernel or a transfer makes memory: its destination, its slot, or
///        memory aside
LOCUS_FUNCTION void place_made(run_state& run, int v) {
  place const& where = run.place_of(v);
  int const k = root_of_value(run, v);
  bool const direct = k >= 0 && may_write_directly(run, v, k);
  std::int64_t const bytes =
      k >= 0 && !direct ? local_bytes(run.whole_of(v), run.bytes_of_element(v), where) : 0;
  for (int r = 0; r < where.local_count(); ++r) {
    if (direct) {
      run.value(v, r) = is_shape_of(run, v, k)
                            ? run.targets[k].locals[r]
                            : dense_value(run.targets[k].locals[r].data, run.whole_of(v), where, r,
                                          run.layout(v, r));
      continue;
    }
    void* const data = k < 0 ? run.memory.in_arena(where.at(r), offset_of(run, v))
                             : run.memory.extra_memory(runtime::find_device(where.at(r)), bytes,
                                                       "a result that overlaps with an operand");
    run.value(v, r) = dense_value(data, run.whole_of(v), where, r, run.layout(v, r));
  }
}

LOCUS_FUNCTION void place_values(run_state& run) {
  for (short i = 0; i < run.plan.steps.count; ++i) {
    step const& s = run.plan.steps[i];
    if (s.is_source() || (s.region >= 0 && !s.stored && run.memory_slots[i].bytes == 0)) continue;
    if (s.region >= 0) {
      place_made(run, i);
      continue;
    }
    short const from = run.plan.operands(s)[0].from;
    for (int r = 0; r < s.where.local_count(); ++r)
      run.value(i, r) = view_value(run.plan, i, r, run.value(from, r), run.extents,
                                   run.arrays.objects, run.layout(i, r));
  }
  for (short i = 0; i < run.plan.steps.count;
       ++i)  // a product lies where the result of its kernel will lie
    if (is_product_with_row(run.plan, i) && run.memory_slots[i].bytes == 0)
      for (int r = 0; r < run.plan.steps[i].where.local_count(); ++r)
        run.value(i, r) = run.value(run.plan.steps[i].region, r);
}

LOCUS_FUNCTION void lay_out(run_state& run) {
  run.memory_slots = run.code.memory_slots;
  if (!run.code.extents) {
    run.memory_slots = {run.arrays.memory_slots, run.plan.steps.count + run.plan.transfers.count};
    for (slot& s : run.memory_slots) s = slot{};
    locus::lay_out(run.plan, run.memory_slots, run.extents);
  }
  for (short v = 0; v < run.memory_slots.count; ++v)
    if (run.memory_slots[v].bytes > 0 && !run.memory_slots[v].is_result)
      for (int r = 0; r < run.place_of(v).local_count(); ++r)
        open_arena(run, run.place_of(v).at(r));
  place_values(run);
  if (run.code.crossings) run.code.crossings->lay_out(run);
}

/// means: no other value uses the memory of temporary v until action `until`, even if its slot ends
///        earlier
LOCUS_FUNCTION bool keeps_memory(run_state const& run, short v, short until) {
  slot const& mine = run.memory_slots[v];
  if (mine.bytes == 0 || mine.is_result || until <= mine.last_read) return true;
  for (short o = 0; o < run.memory_slots.count; ++o) {
    slot const& other = run.memory_slots[o];
    if (o == v || other.bytes == 0 || other.is_result) continue;
    occurrence const* const shared =
        run.is_step(o) ? nullptr : find_occurrence(run, run.transfer_of(o));
    short const made =
        shared ? run.memory_slots[run.plan.steps.count + shared->first].made : other.made;
    if (made <= mine.made || made > until) continue;
    std::int64_t const at = offset_of(run, o);
    if (at >= mine.offset + round_up(mine.bytes) || mine.offset >= at + round_up(other.bytes))
      continue;
    for (int r = 0; r < run.place_of(v).local_count(); ++r)
      if (run.place_of(o).devices.contains(run.place_of(v).at(r))) return false;
  }
  return true;
}

LOCUS_FUNCTION void place_arrival(run_state& run, transfer const& me) {
  step const& s = run.plan.steps[me.from];
  int const v = run.value_of(me), rank = run.extents[me.from].rank;
  bool const result = run.memory_slots[v].is_result;
  auto keep = [&](int r, int source) { run.value(v, r) = run.value(me.from, source); };
  if (me.how == transfer_kind::slice) {
    for (int r = 0; r < me.arrives.local_count(); ++r)
      run.value(v, r) = piece_of(run.value(me.from, r), rank, me.arrives, r, run.extents[me.from],
                                 s.element_bytes, run.layout(v, r));
    return;
  }
  if (me.how == transfer_kind::first_replica && s.where.devices.contains(me.arrives.at(0)))
    return keep(0, s.where.devices.find(me.arrives.at(0)));
  if (run.memory_slots[v].in_place_of >= 0) {
    for (int r = 0; r < me.arrives.local_count(); ++r) keep(r, r);
    return;
  }
  // both sides are host memory and no step writes the arrival: the value keeps its place, unless a
  // later value gets that memory too early
  bool const whole = me.how == transfer_kind::copy || me.how == transfer_kind::broadcast ||
                     me.how == transfer_kind::first_replica;
  bool const stays = s.where == me.arrives;  // an open device is the other device of the transfer
  if (whole && !result && !goes_between_ranks(run, me) &&
      (stays || (all_on_host(s.where) && all_on_host(me.arrives))) &&
      keeps_memory(run, memory_of(run.plan, me.from), run.memory_slots[v].last_read)) {
    for (int r = 0; r < me.arrives.local_count(); ++r) keep(r, 0);
    return;
  }
  place_made(run, v);
  local_value const& source = run.value(me.from, 0);
  if (!whole || result || is_dense(source, rank) || !is_block(source, rank)) return;
  for (int r = 0; r < me.arrives.local_count(); ++r)  // a block arrives with the strides it had
    for (int a = 0; a < rank; ++a) run.layout(v, r).strides[a] = source.strides[a];
}

/// means: a copy of a tensor that the run does not write gets a place in a kept copy
[[gnu::cold]] LOCUS_FUNCTION void place_kept(run_state& run) {
  for (transfer const& t : run.plan.transfers) {
    bool const whole = t.how == transfer_kind::copy || t.how == transfer_kind::broadcast;
    slot const& s = run.memory_slots[run.value_of(t)];
    step const& leaf = run.plan.steps[memory_of(run.plan, t.from)];
    if (!whole || goes_between_ranks(run, t) || brought_by_other(run, t) || s.bytes == 0 ||
        s.is_result || s.in_place_of >= 0 || leaf.kind != step_kind::leaf)
      continue;
    auto const* const of =
        static_cast<tensor_block const*>(run.arrays.objects[&leaf - run.plan.steps.first]);
    local_value const& source = run.value(t.from, 0);
    int const rank = run.rank_of(t.from);
    byte_range const range = run.bytes_of(t.from, 0);
    if (!of || __atomic_load_n(&of->exposed, __ATOMIC_RELAXED) || !is_block(source, rank) ||
        is_written(run, range))
      continue;
    for (int r = 0; r < t.arrives.local_count(); ++r) {
      runtime::copy_key key{of,          leaf.type,   rank,    source,
                            range.first, range.bytes, nullptr, nullptr};
      key.from = &runtime::find_device(run.plan.steps[t.from].where.at(0));
      key.on = &runtime::find_device(t.arrives.at(r));
      if (key.on == key.from || (on_host(key.on->name) && on_host(key.from->name))) continue;
      if (runtime::kept_copy* const c = run.kept.take(run.value_of(t), r, key, checked_build))
        run.value(run.value_of(t), r).data = c->data;
    }
  }
}

LOCUS_FUNCTION void lay_out_arrivals(run_state& run) {
  find_occurrences(run.plan, run.arrays.values, run.code.replicas, run.extents, run.memory_slots,
                   run.shared);
  for (transfer const& t : run.plan.transfers)
    if (!brought_by_other(run, t)) place_arrival(run, t);
  if (has_watcher(run.seen.watchers, runtime::watcher::kept)) place_kept(run);
  for (occurrence const& o : run.shared)
    for (int r = 0; r < run.plan.transfers[o.first].arrives.local_count(); ++r)
      run.value(run.plan.steps.count + o.transfer, r) =
          run.value(run.plan.steps.count + o.first, r);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
