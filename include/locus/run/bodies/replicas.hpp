// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/replicas.hpp declares.
#pragma once
#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/run/log.hpp>       // log_collective
#include <locus/run/replicas.hpp>  // the declarations

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void replica_reduction::foresee_terms(transfer const& me) {
  replica_topology const over = look_at(plan_.steps[me.from].where.devices, chosen_);
  replica_reducer const by(over, name_of_collective(me));
  reduction_job const job = describe(me);
  if (job.count == 0) return;
  if (over.uses_nccl()) communicators_for(over, name_of_collective(me));
  need(runtime::find_device(cpu(0)), by.host_scratch(job));
  bool const all = me.how == transfer_kind::all_reduce;
  for (int r = 0; r < over.count; ++r) {
    logical_device& d = *over.on[r];
    if (!is_dense(value(me.from, r), extents_[me.from].rank)) need(d, job.bytes());
    if (all)
      need(d, by.scratch_of_all_reduce(job, r));
    else if (goes_in_segments(me, over))
      need(d, by.scratch_of(segment_of(me, r), job.element_bytes));
  }
  if (all || goes_in_segments(me, over)) return;
  int const root = root_of(me, over);
  if (!reduces_in_place(me, over) && (over.in_reach() || over.uses_nccl()))
    need(*over.on[root], job.bytes());
  if (over.uses_nccl() && !by.reduces_directly(job))
    need(*over.on[root], by.scratch_of({0, job.count, root, nullptr}, job.element_bytes));
}

LOCUS_FUNCTION void replica_reduction::reduce_bucket(short bucket) {
  ++done_.all_reduces;
  place over{};
  std::int64_t bytes = 0;
  int count = 0;
  for (transfer const& t : plan_.transfers)
    if (t.bucket == bucket)
      over = plan_.steps[t.from].where, bytes += bytes_of_terms(t), count += bytes_of_terms(t) > 0;
  done_.bytes_reduced += bytes;
  replica_topology const on = look_at(over.devices, chosen_);
  replica_reducer by(on, {name_of(transfer_kind::all_reduce), bucket});
  dynamic_array<reduction_job> jobs;
  jobs.resize(static_cast<std::size_t>(count));
  int k = 0;
  for (transfer const& t : plan_.transfers) {
    if (t.bucket != bucket || bytes_of_terms(t) == 0) continue;
    reduction_job& j = jobs[static_cast<std::size_t>(k++)];
    j = describe(t);
    take_terms(t, on, j);
    for (int r = 0; r < on.count; ++r) {
      j.outs[r] = value(value_of(t), r).data;
      wait_for_readers(*on.on[r], queue_kind::compute, {j.outs[r], j.bytes()}, *on.on[r]);
      j.scratch[r] = take(*on.on[r], by.scratch_of_all_reduce(j, r));
    }
    j.host_scratch = take(runtime::find_device(cpu(0)), by.host_scratch(j));
  }
  if (seen_.log)
    log_collective(transfer_kind::all_reduce, plan_, bucket, over,
                   by.describe(k > 0 ? &jobs[0] : nullptr).view(), bytes, seen_.site);
  work_scope scope;
  if (seen_.work && k > 0)
    begin_collective(scope, seen_.work, name_of(transfer_kind::all_reduce), over,
                     by.describe(&jobs[0]).view(), bytes, carrier_of(on),
                     by.queue_of(jobs.begin(), k));
  by.all_reduce(jobs.begin(), k);
  k = 0;
  for (transfer const& t : plan_.transfers)
    if (t.bucket == bucket && bytes_of_terms(t) > 0)
      await(t, on, jobs[static_cast<std::size_t>(k++)]);
}

LOCUS_FUNCTION void replica_reduction::reduce_apart(transfer const& me) {
  step const& s = plan_.steps[me.from];
  std::int64_t const bytes = bytes_of_terms(me);
  ++done_.other_reductions;
  done_.bytes_reduced += bytes;
  replica_topology const on = look_at(s.where.devices, chosen_);
  replica_reducer by(on, name_of_collective(me));
  reduction_job j = describe(me);
  if (seen_.log)
    log_collective(me.how, plan_, -1, s.where, by.describe(&j).view(), bytes, seen_.site);
  if (bytes == 0) return;
  take_terms(me, on, j);
  work_scope scope;
  if (seen_.work)
    begin_collective(scope, seen_.work, name_of(me.how), s.where, by.describe(&j).view(), bytes,
                     carrier_of(on), queue_kind::compute);
  j.host_scratch = take(runtime::find_device(cpu(0)), by.host_scratch(j));
  int const v = value_of(me);
  for (int r = 0; r < me.arrives.count(); ++r) {
    logical_device& d = runtime::find_device(me.arrives.at(r));
    wait_for_readers(d, queue_kind::compute, bytes_of(v, r), d);
  }
  if (goes_in_segments(me, on)) {
    segment segments[max_devices];
    for (int r = 0; r < on.count; ++r) {
      segments[r] = segment_of(me, r);
      j.scratch[r] = take(*on.on[r], by.scratch_of(segments[r], j.element_bytes));
    }
    by.fold_segments(j, segments, on.count);
    return settle();
  }
  int const root = root_of(me, on);
  bool const in_place = reduces_in_place(me, on);
  if (on.uses_nccl() && !by.reduces_directly(j))
    j.scratch[root] =
        take(*on.on[root], by.scratch_of({0, j.count, root, nullptr}, j.element_bytes));
  bool const here = on.in_reach() || on.uses_nccl();
  void* const out = in_place ? value(v, 0).data : here ? take(*on.on[root], bytes) : nullptr;
  void* const sum = by.reduce(j, root, out);
  if (!in_place) deliver(me, here ? *on.on[root] : runtime::find_device(cpu(0)), sum);
  settle();
}

LOCUS_FUNCTION reduction_job replica_reduction::describe(transfer const& me) const {
  step const& s = plan_.steps[me.from];
  reduction_job j;
  j.count = extents_[me.from].size(), j.element_bytes = s.element_bytes;
  j.type = nccl_type_of(s.type), j.op = s.where.op;
  j.fold = p_.folds[&me - plan_.transfers.first];
  j.record = {me.from, name_of(me.how), s.where.at(0)};
  return j;
}

LOCUS_FUNCTION segment replica_reduction::segment_of(transfer const& me, int r) const {
  shape const& whole = extents_[me.from];
  std::int64_t const n = whole.extent[0], row = n > 0 ? whole.size() / n : 0;
  return {me.arrives.piece_begin(n, r) * row, me.arrives.piece_size(n, r) * row, r,
          value(value_of(me), r).data};
}

LOCUS_FUNCTION int replica_reduction::root_of(transfer const& me,
                                              replica_topology const& over) const {
  int const r =
      me.arrives.is_single() ? plan_.steps[me.from].where.devices.find(me.arrives.at(0)) : 0;
  return r < over.count ? r : 0;
}

LOCUS_FUNCTION bool replica_reduction::reduces_in_place(transfer const& me,
                                                        replica_topology const& over) const {
  bool const here = over.in_reach() || over.uses_nccl();
  return here && me.arrives.is_single() &&
         plan_.steps[me.from].where.devices.contains(me.arrives.at(0));
}

LOCUS_FUNCTION void replica_reduction::deliver(transfer const& me, logical_device& at, void* sum) {
  step const& s = plan_.steps[me.from];
  local_layout layout, part_layout;
  int const v = value_of(me), rank = rank_of(v);
  local_value const whole = dense_value(sum, whole_of(v), single(at.name), 0, layout);
  for (int r = 0; r < me.arrives.count(); ++r) {
    local_value const part =
        me.arrives.is_sharded()
            ? piece_of(whole, rank, me.arrives, r, whole_of(v), s.element_bytes, part_layout)
            : whole;
    carry({&runtime::find_device(me.arrives.at(r)), &value(v, r), v, r}, {&at, &part}, rank,
          s.element_bytes, {me.from, name_of(me.how), at.name});
  }
}

LOCUS_FUNCTION void* replica_reduction::dense_term(transfer const& me, int r) {
  local_value const& term = value(me.from, r);
  int const rank = extents_[me.from].rank;
  if (is_dense(term, rank)) return term.data;
  logical_device& d = runtime::find_device(plan_.steps[me.from].where.at(r));
  step_record const record{me.from, "packing a term", d.name};
  local_layout layout;
  local_value const packed = dense_value(take_reserve(d, bytes_of_terms(me)), extents_[me.from],
                                         single(d.name), 0, layout);
  carry({&d, &packed}, {&d, &term, me.from, r}, rank, plan_.steps[me.from].element_bytes, record);
  return packed.data;
}

LOCUS_FUNCTION void replica_reduction::take_terms(transfer const& me, replica_topology const& over,
                                                  reduction_job& j) {
  for (int r = 0; r < over.count; ++r) {
    wait_for(me.from, r, *over.on[r]);
    j.terms[r] = dense_term(me, r), j.whose[r] = static_cast<short>(r);
  }
  if (runtime::planted.swap_replicas && over.count > 1)
    std::swap(j.terms[0], j.terms[1]), std::swap(j.whose[0], j.whose[1]);
  if constexpr (checked_build)
    for (int r = 0; r < over.count; ++r)
      check_owner(*over.on[r], j.terms[r], {me.from, name_of(me.how), over.on[r]->name});
}

LOCUS_FUNCTION void replica_reduction::await(transfer const& me, replica_topology const& over,
                                             reduction_job const& j) {
  for (int r = 0; r < over.count; ++r) {
    if (!j.done[r].is_set()) continue;
    a_.ready[index(value_of(me), r)] = j.done[r];
    in_flight(*over.on[r], {j.terms[r], j.bytes()}, j.done[r]);
    if (j.outs[r] != j.terms[r]) in_flight(*over.on[r], {j.outs[r], j.bytes()}, j.done[r]);
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END
