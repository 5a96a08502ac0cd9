// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/local.hpp declares.
#pragma once
#include <locus/backend/device_use.hpp>        // use_of
#include <locus/collective/local.hpp>          // the declarations
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/copies.hpp>            // check_host_access
#include <locus/memory/kept_copies_limit.hpp>  // forget_copies
#include <locus/watch/watch.hpp>               // is_watched

LOCUS_COLD_BEGIN

namespace locus::internal {

LOCUS_FUNCTION device_list local_parts::devices() const {
  if (lie_on_ranks()) return over;
  device_list all;
  for (int r = 0; r < count; ++r) all.push(of[r].at);
  return all;
}

}  // namespace locus::internal

namespace locus::detail {

LOCUS_FUNCTION void* local_scratch::take(logical_device& d, std::int64_t bytes) {
  if (bytes <= 0) return nullptr;
  blocks_.push({&d, runtime::allocate(d, bytes, purpose), bytes});
  return blocks_.back().at;
}

LOCUS_FUNCTION void* receive_at(device at, void* first, std::int64_t bytes) {
  runtime::meet_arrivals(runtime::find_device(at), first, bytes);
  runtime::forget_copies(first, bytes);
  return first;
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void copy_local(device to_name, void* to, device from_name, void const* from,
                               std::int64_t bytes, std::string_view name) {
  if (bytes == 0 || to == from) return;
  receive_at(to_name, to, bytes);
  logical_device &a = runtime::find_device(to_name), &b = runtime::find_device(from_name);
  step_record const record{-1, name, a.name};
  runtime::running_scope const scope(&record);
  if (a.is_host() && b.is_host()) {
    runtime::check_host_access(to, bytes, true, record);
    runtime::check_host_access(from, bytes, false, record);
  }
  if (&a == &b) {
    runtime::copy(a, to, b, from, bytes, queue_kind::compute, record);
    return;
  }
  logical_device& carrier = !a.is_host() ? a : b;
  for (logical_device* d : {&a, &b})
    if (!d->is_host())
      runtime::wait(carrier, queue_kind::copy, runtime::mark(*d, queue_kind::compute));
  stamp const done = runtime::copy(a, to, b, from, bytes, queue_kind::copy, record);
  for (logical_device* d : {&a, &b}) runtime::wait(*d, queue_kind::compute, done);
}

LOCUS_FUNCTION void refuse_parts(std::string_view name, int r, shape const& one, shape const& other,
                                 std::string_view remedy) {
  message text;
  throw shape_error(text << "locus: tensor " << r << " of collective::" << name << " has extents "
                         << one << ", which do not go with " << other << "; " << remedy);
}

LOCUS_FUNCTION void require_distinct(local_parts const& p, std::string_view name) {
  for (int r = 0; r < p.count; ++r)
    for (int k = 0; k < r; ++k)
      if (p.of[k].at == p.of[r].at) {
        message text;
        throw placement_error(text << "locus: two tensors of collective::" << name << " lie on "
                                   << p.of[r].at << "; give one tensor of each device");
      }
}

LOCUS_FUNCTION void require_same_extents(local_parts const& p, std::string_view name) {
  require_distinct(p, name);
  for (int r = 1; r < p.count; ++r)
    if (!(p.of[r].extents == p.of[0].extents))
      refuse_parts(name, r, p.of[r].extents, p.of[0].extents, "make all of one shape");
}

LOCUS_FUNCTION void require_rows(local_parts const& parts, shape const& whole,
                                 std::string_view name) {
  std::int64_t rows = 0;
  for (int r = 0; r < parts.count; ++r) {
    shape part = parts.of[r].extents;
    rows += part.extent[0];
    part.extent[0] = whole.extent[0];
    if (!(part == whole))
      refuse_parts(name, r, parts.of[r].extents, whole, "give parts that differ in rows alone");
  }
  if (rows != whole.extent[0])
    refuse_parts(name, parts.count - 1, parts.of[parts.count - 1].extents, whole,
                 "give parts with as many rows together");
}

LOCUS_FUNCTION local_reduction::local_reduction(local_parts const& parts, local_operation const& o)
    : parts_(parts), devices_(parts.devices()), topology_(look_at(devices_)),
      by_(topology_, {o.name, -1}), operation_(o) {
  require_same_extents(parts, o.name);
  job_.count = parts.of[0].size(), job_.element_bytes = o.element_bytes, job_.type = o.type;
  job_.op = o.op, job_.scaled = o.scaled, job_.by = o.by, job_.fold = o.fold;
  job_.record = {-1, o.name, parts.of[0].at};
  for (short r = 0; r < parts.count; ++r) {
    job_.terms[r] = parts.of[r].data, job_.whose[r] = r;
  }
  if (runtime::planted.swap_replicas && parts.count > 1) {
    std::swap(job_.terms[0], job_.terms[1]);
    std::swap(job_.whose[0], job_.whose[1]);
  }
  for (int r = 0; r < parts.count; ++r)
    runtime::meet_arrivals(*topology_.on[r], parts.of[r].data, job_.bytes());
  log();
}

LOCUS_FUNCTION void local_reduction::all() {
  if (job_.count == 0) return;
  for (int r = 0; r < topology_.count; ++r) {
    job_.outs[r] = receive_at(parts_.of[r].at, parts_.of[r].data, job_.bytes());
    job_.scratch[r] = scratch_.take(*topology_.on[r], by_.scratch_of_all_reduce(job_, r));
  }
  job_.host_scratch =
      scratch_.take(runtime::find_device(cpu(0)), by_.host_scratch_of_all_reduce(job_));
  by_.all_reduce(&job_, 1);
  for (int r = 0; r < topology_.count; ++r)
    if (job_.done[r].is_set()) runtime::wait(*topology_.on[r], queue_kind::compute, job_.done[r]);
}

LOCUS_FUNCTION void local_reduction::to_one(local_part const& out) {
  if (!(out.extents == parts_.of[0].extents))
    refuse_parts(operation_.name, 0, parts_.of[0].extents, out.extents,
                 "make the target of that shape");
  if (job_.count == 0) return;
  receive_at(out.at, out.data, job_.bytes());
  job_.host_scratch = scratch_.take(runtime::find_device(cpu(0)), by_.host_scratch(job_));
  int root = 0;
  bool here = false;
  for (int r = 0; r < topology_.count; ++r)
    if (devices_[r] == out.at) root = r, here = true;
  bool const on_root = topology_.in_reach() || topology_.uses_nccl();
  void* const at = !on_root ? nullptr
                   : here   ? out.data
                            : scratch_.take(*topology_.on[root], job_.bytes());
  if (topology_.uses_nccl() && !by_.reduces_directly(job_))
    job_.scratch[root] = scratch_.take(
        *topology_.on[root], by_.scratch_of({0, job_.count, root, nullptr}, job_.element_bytes));
  void* const sum = by_.reduce(job_, root, at);
  if (sum != out.data)
    copy_local(out.at, out.data, on_root ? topology_.on[root]->name : cpu(0), sum, job_.bytes(),
               operation_.name);
}

LOCUS_FUNCTION void local_reduction::to_rows(local_parts const& outs) {
  std::int64_t begin = 0;
  segment segments[max_devices];
  for (int r = 0; r < outs.count; ++r) {
    segments[r] = {
        begin, outs.of[r].size(), r,
        receive_at(outs.of[r].at, outs.of[r].data, outs.of[r].size() * operation_.element_bytes)};
    begin += outs.of[r].size();
  }
  if (job_.count == 0) return;
  if (topology_.uses_nccl()) {
    for (int r = 0; r < topology_.count; ++r)
      job_.scratch[r] =
          scratch_.take(*topology_.on[r], by_.scratch_of(segments[r], job_.element_bytes));
    return by_.fold_segments(job_, segments, topology_.count);
  }
  job_.host_scratch = scratch_.take(runtime::find_device(cpu(0)), by_.host_scratch(job_));
  for (int r = 0; r < outs.count; ++r) {
    reduction_job part = job_;
    part.count = segments[r].count;
    for (int k = 0; k < topology_.count; ++k) part.terms[k] = job_.term_at(k, segments[r].begin);
    void* const sum = by_.reduce(part, r, outs.of[r].data);
    if (sum != outs.of[r].data)
      copy_local(outs.of[r].at, outs.of[r].data, cpu(0), sum, part.bytes(), operation_.name);
  }
}

LOCUS_FUNCTION void local_reduction::log() const {
  if (!runtime::is_watched(runtime::watcher::log)) return;
  auto const how = by_.describe(&job_);
  run_event e{.kind = event_kind::collective, .name = operation_.name, .tensors = 1};
  e.over = use_of(place{devices_}.mirrored()), e.reason = how.view(), e.bytes = job_.bytes();
  runtime::log(e);
}

}  // namespace locus::internal

LOCUS_COLD_END
