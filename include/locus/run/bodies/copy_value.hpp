// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/copy_value.hpp declares.
#pragma once
#include <locus/engine/launch.hpp>        // launch_work
#include <locus/machine/copies.hpp>       // check_host_access
#include <locus/machine/event_scope.hpp>  // begin_copy
#include <locus/machine/stamps.hpp>       // mark
#include <locus/run/copy_value.hpp>       // the declarations
#include <locus/work/work.hpp>            // copy_work

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void wait_for(run_state& run, int v, int r, logical_device& d) {
  stamp& s = run.ready(v, r);
  if (!s.is_set()) return;
  runtime::wait(d, queue_kind::compute, s);
  if (d.is_host()) s = stamp{};
}

LOCUS_FUNCTION void wait_for_readers(run_state const& run, logical_device& d, queue_kind queue,
                                     byte_range const& range, logical_device& owner) {
  for (pending_copy const& c : run.pending)
    if (c.from == &owner && c.source.overlaps(range)) runtime::wait(d, queue, c.when);
}

LOCUS_FUNCTION void join_queues(run_state& run) {
  for (pending_copy const& c : run.pending) {
    if (c.to->is_host()) runtime::synchronize(c.when);
    if (!c.from->is_host()) runtime::wait(*c.from, queue_kind::compute, c.when);
    if (!c.to->is_host()) runtime::wait(*c.to, queue_kind::compute, c.when);
  }
  run.pending.clear();
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_operand(step_record const& r, device owner) {
  message text;
  throw bad_access(text << "locus: step " << int(r.number) << " (" << r.name << ") on " << r.where
                        << " touched memory of " << owner << "; a copy is missing in the plan");
}

LOCUS_FUNCTION void check_owner(logical_device const& d, void const* p, step_record const& r) {
  machine_functions const* const gpus = runtime::table.gpu_machine;
  device owner;
  if (gpus && gpus->find_other_owner(d, p, owner)) refuse_operand(r, owner);
}

LOCUS_FUNCTION void copy_strided(launch_site const& site, local_value const& to,
                                 local_value const& from, int rank, int element_bytes) {
  copy_work w;
  w.bytes = element_bytes, w.over.rank = rank;
  w.to.data = to.data, w.from.data = from.data;
  for (int a = 0; a < rank; ++a)
    w.over.extent[a] = from.extents[a], w.to.stride[a] = to.strides[a],
    w.from.stride[a] = from.strides[a];
  if (w.over.size() > 0) launch_work(site, w);
}

inline bool in_one_memory(copy_side const& to, copy_side const& from) {
  return to.on == from.on || (to.on->is_host() && from.on->is_host());
}

LOCUS_FUNCTION bool moves_as_block(local_value const& to, local_value const& from, int rank) {
  if (is_dense(from, rank) && is_dense(to, rank)) return true;
  for (int a = 0; a < rank; ++a)
    if (from.extents[a] != 1 && from.strides[a] != to.strides[a]) return false;
  return is_block(from, rank);
}

[[gnu::cold]] LOCUS_FUNCTION void copy_inside(run_state& run, copy_side const& to,
                                              copy_side const& from, int rank, int element_bytes,
                                              step_record const& record) {
  if (from.number >= 0) wait_for(run, from.number, from.replica, *to.on);
  byte_range const target = range_of(*to.at, rank, element_bytes),
                   source = range_of(*from.at, rank, element_bytes);
  if (to.on->is_host()) {
    runtime::check_host_access(target.first, target.bytes, true, record);
    runtime::check_host_access(source.first, source.bytes, false, record);
  }
  wait_for_readers(run, *to.on, queue_kind::compute, target, *to.on);
  runtime::event_scope scope;
  if (unsigned const w = runtime::watched() & runtime::work_watchers)
    begin_copy(scope, w, *to.on, queue_kind::compute, *to.on, *from.on, source.bytes, record);
  touched const operands[] = {{target.first, static_cast<std::size_t>(target.bytes), true},
                              {source.first, static_cast<std::size_t>(source.bytes), false}};
  copy_strided({to.on, record, operands, 2}, *to.at, *from.at, rank, element_bytes);
}

/// means: copies one block between devices on a copy queue, after the work that made it and the
///        work that used the target
[[gnu::cold]] LOCUS_FUNCTION stamp copy_across(run_state& run, copy_side const& to,
                                               copy_side const& from, int rank, int element_bytes,
                                               step_record const& record) {
  logical_device& carrier = !to.on->is_host() ? *to.on : *from.on;
  byte_range const target = range_of(*to.at, rank, element_bytes),
                   source = range_of(*from.at, rank, element_bytes);
  if constexpr (checked_build) {
    check_owner(*from.on, source.first, record);
    check_owner(*to.on, target.first, record);
  }
  for (logical_device* d : {from.on, to.on})
    if (!d->is_host())
      runtime::wait(carrier, queue_kind::copy, runtime::mark(*d, queue_kind::compute));
  if (from.number >= 0)
    if (stamp const made = run.ready(from.number, from.replica); made.is_set()) {
      if (from.on->is_host())
        wait_for(run, from.number, from.replica, *from.on);
      else
        runtime::wait(carrier, queue_kind::copy, made);
    }
  wait_for_readers(run, carrier, queue_kind::copy, target, *to.on);
  stamp const when = runtime::copy(*to.on, const_cast<void*>(target.first), *from.on, source.first,
                                   source.bytes, queue_kind::copy, record);
  run.pending.push({from.on, to.on, source, when});
  return when;
}

LOCUS_FUNCTION void copy_value(run_state& run, copy_side const& to, copy_side const& from, int rank,
                               int element_bytes, step_record const& record) {
  if (size_of(*from.at, rank) == 0) return;
  if (in_one_memory(to, from)) return copy_inside(run, to, from, rank, element_bytes, record);
  if (moves_as_block(*to.at, *from.at, rank)) {
    stamp const arrived = copy_across(run, to, from, rank, element_bytes, record);
    if (to.number >= 0)
      run.ready(to.number, to.replica) = arrived;
    else
      runtime::wait(*to.on, queue_kind::compute, arrived);
    return;
  }
  // copies by way of dense memory on the device whose value has gaps
  bool const gaps_here = !is_dense(*from.at, rank);
  logical_device& d = gaps_here ? *from.on : *to.on;
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a) s.extent[a] = from.at->extents[a];
  local_layout layout;
  void* const memory = run.memory.take_reserve(d, size_of(*from.at, rank) * element_bytes);
  local_value const dense = dense_value(memory, s, single(d.name), 0, layout);
  copy_side const packed{&d, &dense};
  copy_value(run, packed, from, rank, element_bytes, record);
  copy_value(run, to, packed, rank, element_bytes, record);
}

LOCUS_FUNCTION void foresee_copy(run_state& run, copy_side const& to, copy_side const& from,
                                 int rank, int element_bytes) {
  std::int64_t const bytes = size_of(*from.at, rank) * element_bytes;
  if (bytes == 0 || in_one_memory(to, from)) return;
  runtime::foresee_copy(*to.on, *from.on);
  if (moves_as_block(*to.at, *from.at, rank)) return;
  if (!is_dense(*from.at, rank)) run.memory.will_need(*from.on, bytes);
  if (!is_dense(*to.at, rank)) run.memory.will_need(*to.on, bytes);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
