// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/reduce.hpp declares.
#pragma once
#include <locus/collective/reduce.hpp>  // reduction_job, segment
#include <locus/run/copy_value.hpp>     // wait_for, copy_value
#include <locus/run/events.hpp>         // begin_collective
#include <locus/run/reduce.hpp>         // the declarations

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// for a trace: the card that does the work, or the host
inline logical_device& carrier_of(replica_topology const& on) {
  return on.in_reach() || on.uses_nccl() || on.has_nccl_among_ranks()
             ? *on.on[0]
             : runtime::find_device(cpu(0));
}
inline std::int64_t bytes_of_terms(run_state const& run, transfer const& t) {
  return run.extents[t.from].size() * run.bytes_of_element(t.from);
}
inline void need_memory(run_state& run, logical_device& d, std::int64_t bytes) {
  if (bytes > 0) run.memory.will_need(d, bytes);
}
inline void* take_memory(run_state& run, logical_device& d, std::int64_t bytes) {
  return bytes > 0 ? run.memory.take_reserve(d, bytes) : nullptr;
}
inline collective_name name_of_collective(transfer const& me) {
  return {name_of(me.how), me.bucket};
}
/// means: the pieces are whole rows, and NCCL folds each on its own device
inline bool goes_in_segments(transfer const& me, replica_topology const& over) {
  return me.arrives.is_sharded() && me.arrives.axis == 0 && over.uses_nccl();
}

LOCUS_FUNCTION reduction_job describe_job(run_state const& run, transfer const& me) {
  step const& s = run.plan.steps[me.from];
  reduction_job j;
  j.count = run.extents[me.from].size(), j.element_bytes = s.element_bytes;
  j.type = nccl_type_of(s.type), j.op = s.where.op;
  j.fold = run.code.folds[&me - run.plan.transfers.first];
  j.record = {me.from, name_of(me.how), s.where.at(0)};
  return j;
}

LOCUS_FUNCTION segment segment_of(run_state const& run, transfer const& me, int r) {
  shape const& whole = run.extents[me.from];
  std::int64_t const n = whole.extent[0], row = n > 0 ? whole.size() / n : 0;
  return {me.arrives.piece_begin(n, r) * row, me.arrives.piece_size(n, r) * row, r,
          run.value(run.value_of(me), r).data};
}

/// the replica that folds: the one on the destination's device, else replica 0
LOCUS_FUNCTION int folding_replica_of(run_state const& run, transfer const& me,
                                      replica_topology const& over) {
  int const r =
      me.arrives.is_single() ? run.plan.steps[me.from].where.devices.find(me.arrives.at(0)) : 0;
  return r < over.count ? r : 0;
}

/// means: the fold writes the result to its final memory
LOCUS_FUNCTION bool reduces_in_place(run_state const& run, transfer const& me,
                                     replica_topology const& over) {
  bool const here = over.in_reach() || over.uses_nccl();
  return here && me.arrives.is_single() &&
         run.plan.steps[me.from].where.devices.contains(me.arrives.at(0));
}

LOCUS_FUNCTION void foresee_terms(run_state& run, transfer const& me) {
  replica_topology const over = look_at(run.plan.steps[me.from].where.devices, run.chosen);
  replica_reducer const by(over, name_of_collective(me));
  reduction_job const job = describe_job(run, me);
  if (job.count == 0) return;
  bool const all = me.how == transfer_kind::all_reduce;
  if (over.uses_nccl() || (all && by.is_direct_over_ranks(job)))
    communicators_for(over, name_of_collective(me));
  need_memory(run, runtime::find_device(cpu(0)),
              all ? by.host_scratch_of_all_reduce(job) : by.host_scratch(job));
  for (int r = 0; r < over.count; ++r) {
    logical_device& d = *over.on[r];
    if (!is_dense(run.value(me.from, r), run.extents[me.from].rank))
      need_memory(run, d, job.bytes());
    if (all)
      need_memory(run, d, by.scratch_of_all_reduce(job, r));
    else if (goes_in_segments(me, over))
      need_memory(run, d, by.scratch_of(segment_of(run, me, r), job.element_bytes));
  }
  if (all || goes_in_segments(me, over)) return;
  int const root = folding_replica_of(run, me, over);
  if (!reduces_in_place(run, me, over) && (over.in_reach() || over.uses_nccl()))
    need_memory(run, *over.on[root], job.bytes());
  if (over.uses_nccl() && !by.reduces_directly(job))
    need_memory(run, *over.on[root],
                by.scratch_of({0, job.count, root, nullptr}, job.element_bytes));
}

/// means: the address of term r in row order; a term with gaps or another order of axes is packed
///        first
LOCUS_FUNCTION void* dense_term(run_state& run, transfer const& me, int r) {
  local_value const& term = run.value(me.from, r);
  int const rank = run.extents[me.from].rank;
  if (is_dense(term, rank)) return term.data;
  logical_device& d = runtime::find_device(run.plan.steps[me.from].where.at(r));
  step_record const record{me.from, "packing a term", d.name};
  local_layout layout;
  local_value const packed = dense_value(run.memory.take_reserve(d, bytes_of_terms(run, me)),
                                         run.extents[me.from], single(d.name), 0, layout);
  copy_value(run, {&d, &packed}, {&d, &term, me.from, r}, rank,
             run.plan.steps[me.from].element_bytes, record);
  return packed.data;
}

/// means: j gets the terms of a transfer in replica order, each on its device
LOCUS_FUNCTION void take_terms(run_state& run, transfer const& me, replica_topology const& over,
                               reduction_job& j) {
  for (int r = 0; r < over.count; ++r) {
    wait_for(run, me.from, r, *over.on[r]);
    j.terms[r] = dense_term(run, me, r), j.whose[r] = static_cast<short>(r);
  }
  if (runtime::planted.swap_replicas && over.count > 1)
    std::swap(j.terms[0], j.terms[1]), std::swap(j.whose[0], j.whose[1]);
  if constexpr (checked_build)
    for (int r = 0; r < over.count; ++r)
      check_owner(*over.on[r], j.terms[r], {me.from, name_of(me.how), over.on[r]->name});
}

/// means: registers a result that arrives beside the compute queue: later work that reads it, or
///        writes the bytes that the collective uses, waits for it
LOCUS_FUNCTION void await_result(run_state& run, transfer const& me, replica_topology const& over,
                                 reduction_job const& j) {
  for (int r = 0; r < over.count; ++r) {
    if (!j.done[r].is_set()) continue;
    run.ready(run.value_of(me), r) = j.done[r];
    auto const busy = [&](void const* p) {
      run.pending.push({over.on[r], over.on[r], {p, j.bytes()}, j.done[r]});
    };
    busy(j.terms[r]);
    if (j.outs[r] != j.terms[r]) busy(j.outs[r]);
  }
}

LOCUS_FUNCTION void reduce_bucket(run_state& run, short bucket) {
  ++run.done.all_reduces;
  place over{};
  std::int64_t bytes = 0;
  int tensors = 0, count = 0;
  for (transfer const& t : run.plan.transfers)
    if (t.bucket == bucket)
      over = run.plan.steps[t.from].where, bytes += bytes_of_terms(run, t), ++tensors,
      count += bytes_of_terms(run, t) > 0;
  run.done.bytes_reduced += bytes;
  replica_topology const on = look_at(over.devices, run.chosen);
  replica_reducer by(on, {name_of(transfer_kind::all_reduce), bucket});
  dynamic_array<reduction_job> jobs;
  jobs.resize(static_cast<std::size_t>(count));
  int k = 0;
  for (transfer const& t : run.plan.transfers) {
    if (t.bucket != bucket || bytes_of_terms(run, t) == 0) continue;
    reduction_job& j = jobs[static_cast<std::size_t>(k++)];
    j = describe_job(run, t);
    take_terms(run, t, on, j);
    for (int r = 0; r < on.count; ++r) {
      j.outs[r] = run.value(run.value_of(t), r).data;
      wait_for_readers(run, *on.on[r], queue_kind::compute, {j.outs[r], j.bytes()}, *on.on[r]);
      j.scratch[r] = take_memory(run, *on.on[r], by.scratch_of_all_reduce(j, r));
    }
    j.host_scratch =
        take_memory(run, runtime::find_device(cpu(0)), by.host_scratch_of_all_reduce(j));
  }
  by.let_end_later(jobs.begin(), k);
  event_scope scope;
  if (run.seen.watchers & runtime::event_watchers)
    begin_collective(scope, run, transfer_kind::all_reduce, tensors, over,
                     by.describe_all_reduce(k > 0 ? &jobs[0] : nullptr).view(), bytes,
                     carrier_of(on), by.queue_of(jobs.begin(), k));
  run.pending.reserve(run.pending.size() + 2 * static_cast<std::size_t>(k * on.count));
  by.all_reduce(jobs.begin(), k);
  k = 0;
  for (transfer const& t : run.plan.transfers)
    if (t.bucket == bucket && bytes_of_terms(run, t) > 0)
      await_result(run, t, on, jobs[static_cast<std::size_t>(k++)]);
}

/// means: copies a sum from one device to its destinations: the whole, or to each its piece
LOCUS_FUNCTION void deliver(run_state& run, transfer const& me, logical_device& at, void* sum) {
  step const& s = run.plan.steps[me.from];
  local_layout layout, part_layout;
  int const v = run.value_of(me), rank = run.rank_of(v);
  local_value const whole = dense_value(sum, run.whole_of(v), single(at.name), 0, layout);
  for (int r = 0; r < me.arrives.local_count(); ++r) {
    local_value const part =
        me.arrives.is_sharded()
            ? piece_of(whole, rank, me.arrives, r, run.whole_of(v), s.element_bytes, part_layout)
            : whole;
    copy_value(run, {&runtime::find_device(me.arrives.at(r)), &run.value(v, r), v, r}, {&at, &part},
               rank, s.element_bytes, {me.from, name_of(me.how), at.name});
  }
}

LOCUS_FUNCTION void reduce_apart(run_state& run, transfer const& me) {
  step const& s = run.plan.steps[me.from];
  std::int64_t const bytes = bytes_of_terms(run, me);
  ++run.done.other_reductions;
  run.done.bytes_reduced += bytes;
  replica_topology const on = look_at(s.where.devices, run.chosen);
  replica_reducer by(on, name_of_collective(me));
  reduction_job j = describe_job(run, me);
  if (bytes > 0) take_terms(run, me, on, j);
  event_scope scope;
  if (run.seen.watchers & runtime::event_watchers)
    begin_collective(scope, run, me.how, 1, s.where, by.describe(&j).view(), bytes, carrier_of(on),
                     queue_kind::compute);
  if (bytes == 0) return;
  j.host_scratch = take_memory(run, runtime::find_device(cpu(0)), by.host_scratch(j));
  int const v = run.value_of(me);
  for (int r = 0; r < me.arrives.local_count(); ++r) {
    logical_device& d = runtime::find_device(me.arrives.at(r));
    wait_for_readers(run, d, queue_kind::compute, run.bytes_of(v, r), d);
  }
  if (goes_in_segments(me, on)) {
    segment segments[max_devices];
    for (int r = 0; r < on.count; ++r) {
      segments[r] = segment_of(run, me, r);
      j.scratch[r] = take_memory(run, *on.on[r], by.scratch_of(segments[r], j.element_bytes));
    }
    by.fold_segments(j, segments, on.count);
    return join_queues(run);
  }
  int const root = folding_replica_of(run, me, on);
  bool const in_place = reduces_in_place(run, me, on);
  if (on.uses_nccl() && !by.reduces_directly(j))
    j.scratch[root] =
        take_memory(run, *on.on[root], by.scratch_of({0, j.count, root, nullptr}, j.element_bytes));
  bool const here = on.in_reach() || on.uses_nccl();
  void* const out = in_place ? run.value(v, 0).data
                    : here   ? take_memory(run, *on.on[root], bytes)
                             : nullptr;
  void* const sum = by.reduce(j, root, out);
  if (!in_place) deliver(run, me, here ? *on.on[root] : runtime::find_device(cpu(0)), sum);
  join_queues(run);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
