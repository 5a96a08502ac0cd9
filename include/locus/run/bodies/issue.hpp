// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/issue.hpp declares.
#pragma once
#include <locus/expr/block.hpp>      // tensor_block
#include <locus/machine/copies.hpp>  // check_host_access
#include <locus/run/copy_value.hpp>  // wait_for, copy_strided, copy_value, each_part
#include <locus/run/events.hpp>      // begin_launch, say_fallback
#include <locus/run/exchange.hpp>    // exchange_halo, wait_for_halos
#include <locus/run/issue.hpp>       // the declarations
#include <locus/run/lay_out.hpp>     // find_occurrence, brought_by_other

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: read(step, edge) for each operand in memory that the kernel of region i reads, stored(k)
///        for each value that the kernel stores
template <class Read, class Stored>
void each_value(run_state const& run, short i, Read const& read, Stored const& stored) {
  plan_view const& plan = run.plan;
  for (short k = 0; k < plan.steps.count; ++k) {
    step const& s = plan.steps[k];
    if (s.region != i) continue;
    for (edge const& e : plan.operands(s)) {
      step const& o = plan.steps[e.from];
      bool const inside = o.region == i && e.by < 0;
      if (o.kind != step_kind::scalar && o.kind != step_kind::index && !inside) read(s, e);
    }
    if (s.stored || run.memory_slots[k].bytes > 0) stored(k);
  }
}

/// concatenate, and a reshape of a value with gaps: one copying kernel for each operand
[[gnu::cold]] LOCUS_FUNCTION void copy_operands(run_state& run, launch const& what) {
  step const& s = run.plan.steps[what.step];
  std::int64_t begin = 0;
  for (edge const& e : run.plan.operands(s)) {
    int const rank = run.extents[e.from].rank;
    local_layout from_layout, to_layout;
    local_value from = run.value(run.value_of(e), what.replica),
                to = run.value(what.step, what.replica);
    if (s.kind == step_kind::concatenate) {
      bool const whole_beside_pieces =
          s.where.is_sharded() && run.place_of(run.value_of(e)).is_mirrored();
      if (whole_beside_pieces)
        from = piece_of(from, rank, s.where, what.replica, run.extents[e.from], s.element_bytes,
                        from_layout);
      to = part_of(to, rank, s.axis, begin, from.extents[s.axis], s.element_bytes, to_layout);
      begin += from.extents[s.axis];
    } else {
      to = dense_value(to.data, run.extents[e.from], run.place_of(run.value_of(e)), what.replica,
                       to_layout);
    }
    copy_strided(what.site, to, from, rank, s.element_bytes);
  }
}

LOCUS_FUNCTION void start_kernel(run_state& run, launch const& what) {
  step_kind const kind = run.plan.steps[what.step].kind;
  if (kind == step_kind::concatenate || kind == step_kind::reshape)
    copy_operands(run, what);
  else
    run.code.launches[what.step](what);
}

/// means: writes the names of the kernels that the launch will start; the call with a workspace
///        that measures starts none
[[gnu::cold]] LOCUS_FUNCTION void write_kernels(run_state& run, message& out, launch const& what) {
  kernel_list kernels;
  kernel_workspace measured{.on = what.site.on, .kernels = &kernels};
  launch dry = what;
  dry.site.workspace = &measured;
  start_kernel(run, dry);
  out << kernels;
}

/// units: bytes that the kernel of one replica reads and writes
[[gnu::cold]] LOCUS_FUNCTION std::int64_t bytes_of_region(run_state const& run, short i, int r) {
  std::int64_t bytes = 0;
  each_value(
      run, i,
      [&](step const& s, edge const& e) {
        if (!read_before(run.plan, s, e)) bytes += run.bytes_of(run.value_of(e), r).bytes;
      },
      [&](short k) { bytes += run.bytes_of(k, r).bytes; });
  return bytes;
}

[[gnu::cold]] LOCUS_FUNCTION void announce(event_scope& scope, run_state& run, launch const& what) {
  message kernel;
  if (what.site.on->is_card()) write_kernels(run, kernel, what);
  begin_launch(scope, run, what, bytes_of_region(run, what.step, what.replica), kernel.view());
}

inline constexpr int max_touched = 64;

/// means: the bytes of a value; of a part of a tensor with margins: those of the piece and its
///        margins, or, without `margins`, those of the part that lie in the piece
LOCUS_FUNCTION byte_range bytes_read(run_state const& run, int v, int r, bool margins) {
  short const leaf = run.is_step(v) ? memory_of(run.plan, static_cast<short>(v)) : short(-1);
  if (leaf < 0 || leaf == v || run.plan.steps[leaf].margin.width == 0) return run.bytes_of(v, r);
  auto const& block = *static_cast<tensor_block const*>(run.arrays.objects[leaf]);
  byte_range const own = run.bytes_of(leaf, r);
  if (own.bytes == 0) return own;
  if (!margins) return own.common(run.bytes_of(v, r));
  std::int64_t const row = own.bytes / run.value(leaf, r).extents[0] * block.where.margin.width;
  return {static_cast<char const*>(own.first) - row, own.bytes + 2 * row};
}

/// means: orders the kernel behind the arrivals of its operands and behind readers of its results;
///        checks that its operands lie on its device; fills `operands`, and returns their number
/// margins: also those of the rows that halos bring
[[gnu::cold]] LOCUS_FUNCTION int gather_operands(run_state& run, short i, int r, logical_device& d,
                                                 step_record const& record, bool margins,
                                                 touched* operands) {
  int count = 0;
  auto add = [&](int v, bool writes) {
    byte_range const range = writes ? run.bytes_of(v, r) : bytes_read(run, v, r, margins);
    if (range.bytes == 0) return;
    if constexpr (checked_build) check_owner(d, range.first, record);
    if (writes)
      wait_for_readers(run, d, queue_kind::compute, range, d);
    else
      wait_for(run, v, r, d);
    if (d.is_host()) runtime::check_host_access(range.first, range.bytes, writes, record);
    if (count < max_touched)
      operands[count++] = {range.first, static_cast<std::size_t>(range.bytes), writes};
  };
  each_value(
      run, i,
      [&](step const&, edge const& e) {
        add(run.value_of(e), false);
        if (e.by < 0) wait_for(run, memory_of(run.plan, e.from), r, d);
      },
      [&](short k) { add(k, true); });
  return count;
}

/// The parts of a launch: the rows that need no margin, the first ones, the last ones.
enum part_of_launch : int { all_rows, inside, first_rows, last_rows };
/// means: what = that part of n rows; the first rows of a short piece are all of them
[[gnu::cold]] LOCUS_FUNCTION void choose_rows(launch& what, action const& act, int part,
                                              std::int64_t n) {
  std::int64_t const first = n < act.before ? n : act.before;
  std::int64_t const last = n - act.behind < first ? first : n - act.behind;
  what.begin = part == inside ? first : part == first_rows ? 0 : last;
  what.end = part == inside ? last : part == first_rows ? first : n;
  what.part = part == inside ? "inside" : part == first_rows ? "first rows" : "last rows";
}

/// means: a kernel of region i reads margins, to which the plan brings rows
[[gnu::cold]] LOCUS_FUNCTION bool reads_margins(plan_view const& p, short i) {
  for (step const& s : p.steps)
    for (edge const& e : p.operands(s))
      if (s.region == i && e.by < 0 && reach_of(s, p.steps[e.from].where) != 0) return true;
  return false;
}

/// means: starts a kernel of region i on each replica: on the whole piece, or on one part of a launch
///        in parts
LOCUS_FUNCTION void launch_part(run_state& run, action const& act, int part) {
  short const i = act.what;
  step const& ends = run.plan.steps[i];
  ++run.done.launches;
  bool const look = runtime::devices().has_gpus() || !run.pending.empty();
  bool const margins = run.code.crossings && part != inside && reads_margins(run.plan, i);
  for (int r = 0; r < ends.where.local_count(); ++r) {
    logical_device& d = runtime::find_device(ends.where.at(r));
    step_record const record = run.record_of(i, d.name);
    runtime::running_scope const scope(&record);
    touched operands[max_touched];
    int count = 0;
    if (look) count = gather_operands(run, i, r, d, record, margins, operands);
    if (look && margins && is_in_parts(run.plan)) wait_for_halos(run, d);
    frame const f = run.as_frame();
    launch what{&f, i, r, {&d, record, operands, count, run.memory.find_workspace(d), run.tf32}};
    if (act.in_parts())
      choose_rows(what, act, part,
                  ends.where.piece_size(run.extents[i].extent[ends.where.axis], r));
    event_scope work;
    if (run.seen.watchers & runtime::event_watchers) announce(work, run, what);
    start_kernel(run, what);
  }
}

LOCUS_FUNCTION void launch_region(run_state& run, action const& act) {
  for (short k = 0; k <= act.what; ++k)
    if (run.plan.steps[k].region == act.what && run.plan.steps[k].fell_back) {
      ++run.done.fallbacks;
      say_fallback(run, k);
    }
  if (!act.in_parts()) return launch_part(run, act, all_rows);
  for (int const part : {inside, first_rows, last_rows}) launch_part(run, act, part);
}

// ---- transfers ----

/// means: takes the copy of transfer `first`, and counts it as reused
[[gnu::cold]] LOCUS_FUNCTION void reuse(run_state& run, transfer const& me, short first) {
  each_part(run, me, [&](copy_side const&, device to, copy_side const& from, device at, bool) {
    if (!(to == at))
      note_copy(run, me, *from.at, at, to, true, "reused: the same tensor was brought before");
  });
  int const v = run.value_of(me), other = run.plan.steps.count + first;
  for (int r = 0; r < me.arrives.local_count(); ++r) run.ready(v, r) = run.ready(other, r);
}

LOCUS_FUNCTION void move_value(run_state& run, transfer const& me) {
  if (&me - run.plan.transfers.first ==
      runtime::planted.omit_transfer) {  // a mistake that a test plants: readers get the source
    int const v = run.value_of(me);
    for (int r = 0; r < me.arrives.local_count(); ++r) run.value(v, r) = run.value(me.from, 0);
    return;
  }
  if (is_reduction(me.how)) return run.code.reductions->reduce(run, me);
  if (me.how == transfer_kind::halo) return exchange_halo(run, me);
  if (goes_between_ranks(run, me)) return runtime::over_ranks->move(run, me);
  if (brought_by_other(run, me)) return reuse(run, me, find_occurrence(run, me)->first);
  each_part(run, me,
            [&](copy_side const& to, device to_name, copy_side const& from, device from_name,
                bool skip) { move_part(run, me, to, to_name, from, from_name, skip); });
  if (me.how == transfer_kind::gather || me.how == transfer_kind::all_gather)
    join_queues(run);  // several copies fill one value: its readers wait for all of them
}

LOCUS_FUNCTION void issue(run_state& run) {
  for (action const& act : run.plan.actions) {
    if (act.kind == action_kind::launch)
      launch_region(run, act);
    else if (act.kind == action_kind::transfer)
      run.code.crossings->move(run, run.plan.transfers[act.what]);
    else
      run.code.reductions->reduce_bucket(run, act.what);
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
