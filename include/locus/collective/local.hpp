// SPDX-License-Identifier: Apache-2.0
// Collectives outside plans, over blocks that the caller names, one on each device. Each device's
// compute queue orders them with whatever else uses the blocks; blocks on the host are complete.
#pragma once
#include <utility>  // swap

#include <locus/backend/device_use.hpp>        // use_of
#include <locus/collective/reduce.hpp>         // replica_reducer
#include <locus/core/config.hpp>               // LOCUS_COLD_BEGIN
#include <locus/runtime/copy_cache_limit.hpp>  // forget_copies
#include <locus/runtime/log.hpp>               // log
#include <locus/shape/shape.hpp>               // shape

LOCUS_COLD_BEGIN

namespace locus::detail {

/// What one device has of a collective: dense elements.
struct local_part {
  device at{};
  void* data = nullptr;
  shape extents{};
  std::int64_t size() const { return extents.size(); }
};
struct local_parts {
  local_part of[max_devices]{};
  int count = 0;
  device_list devices() const {
    device_list all;
    for (int r = 0; r < count; ++r) all.push(of[r].at);
    return all;
  }
};

/// What is done with the elements.
struct local_operation {
  std::string_view name;
  int element_bytes = 0;
  runtime::nccl_type type = runtime::nccl_type::none;
  reduction op = reduction::sum;
  scaling scaled = scaling::none;
  double by = 1;
  fold_fn fold = nullptr;
};

/// Memory until a collective ends, given back in the order of its device's compute queue.
class local_scratch {
 public:
  local_scratch() = default;
  local_scratch(local_scratch const&) = delete;
  ~local_scratch() {
    for (block const& b : blocks_) runtime::release(*b.on, b.at, b.bytes, purpose);
  }
  void* take(logical_device& d, std::int64_t bytes) {
    if (bytes <= 0) return nullptr;
    blocks_.push({&d, runtime::allocate(d, bytes, purpose), bytes});
    return blocks_.back().at;
  }

 private:
  static constexpr std::string_view purpose = "a collective";
  struct block {
    logical_device* on = nullptr;
    void* at = nullptr;
    std::int64_t bytes = 0;
  };
  dynamic_array<block> blocks_;
};

/// means: where a collective writes: its device's compute queue goes on behind what a plan left
///        under way there, and copies that devices keep of it are out of date
/// cost:  two tests
inline void* receive_at(device at, void* first, std::int64_t bytes) {
  runtime::meet_arrivals(runtime::find_device(at), first, bytes);
  runtime::forget_copies(first, bytes);
  return first;
}

/// bytes from one device to another, behind and before all that their compute queues have to do
/// with both
inline void copy_local(device to_name, void* to, device from_name, void const* from,
                       std::int64_t bytes, std::string_view name) {
  if (bytes == 0 || to == from) return;
  receive_at(to_name, to, bytes);
  logical_device &a = runtime::find_device(to_name), &b = runtime::find_device(from_name);
  step_record const record{-1, name, a.name};
  runtime::running_scope const scope(&record);
  if (a.how == backing::host && b.how == backing::host) {
    runtime::check_host_access(to, bytes, true, record);
    runtime::check_host_access(from, bytes, false, record);
  }
  if (&a == &b) {
    runtime::copy(a, to, b, from, bytes, queue_kind::compute, record);
    return;
  }
  logical_device& carrier = a.how != backing::host ? a : b;
  for (logical_device* d : {&a, &b})
    if (d->how != backing::host)
      runtime::wait(carrier, queue_kind::copy, runtime::mark(*d, queue_kind::compute));
  stamp const done = runtime::copy(a, to, b, from, bytes, queue_kind::copy, record);
  for (logical_device* d : {&a, &b}) runtime::wait(*d, queue_kind::compute, done);
}

[[noreturn, gnu::cold]] inline void refuse_parts(std::string_view name, int r, shape const& one,
                                                 shape const& other, std::string_view remedy) {
  message text;
  throw shape_error(text << "locus: tensor " << r << " of collective::" << name << " has extents "
                         << one << ", which do not go with " << other << "; " << remedy);
}
inline void require_distinct(local_parts const& p, std::string_view name) {
  for (int r = 0; r < p.count; ++r)
    for (int k = 0; k < r; ++k)
      if (p.of[k].at == p.of[r].at) {
        message text;
        throw placement_error(text << "locus: two tensors of collective::" << name << " lie on "
                                   << p.of[r].at << "; give one tensor of each device");
      }
}
inline void require_same_extents(local_parts const& p, std::string_view name) {
  require_distinct(p, name);
  for (int r = 1; r < p.count; ++r)
    if (!(p.of[r].extents == p.of[0].extents))
      refuse_parts(name, r, p.of[r].extents, p.of[0].extents, "make all of one shape");
}
/// rows of the parts, one after another, are those of the whole
inline void require_rows(local_parts const& parts, shape const& whole, std::string_view name) {
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

/// A reduction of parts, with what it needs.
class local_reduction {
 public:
  local_reduction(local_parts const& parts, local_operation const& o)
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
    if (job_.count > 0)
      job_.host_scratch = scratch_.take(runtime::find_device(cpu(0)), by_.host_scratch(job_));
    log();
  }
  /// each term becomes the result
  void all() {
    if (job_.count == 0) return;
    for (int r = 0; r < topology_.count; ++r) {
      job_.outs[r] = receive_at(parts_.of[r].at, parts_.of[r].data, job_.bytes());
      job_.scratch[r] = scratch_.take(*topology_.on[r], by_.scratch_of_all_reduce(job_, r));
    }
    by_.all_reduce(&job_, 1);
    for (int r = 0; r < topology_.count; ++r)
      if (job_.done[r].is_set()) runtime::wait(*topology_.on[r], queue_kind::compute, job_.done[r]);
  }
  void to_one(local_part const& out) {
    if (!(out.extents == parts_.of[0].extents))
      refuse_parts(operation_.name, 0, parts_.of[0].extents, out.extents,
                   "make the target of that shape");
    if (job_.count == 0) return;
    receive_at(out.at, out.data, job_.bytes());
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
  /// out r: rows of its own
  void to_rows(local_parts const& outs) {
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
    for (int r = 0; r < outs.count; ++r) {
      reduction_job part = job_;
      part.count = segments[r].count;
      for (int k = 0; k < topology_.count; ++k) part.terms[k] = job_.term_at(k, segments[r].begin);
      void* const sum = by_.reduce(part, r, outs.of[r].data);
      if (sum != outs.of[r].data)
        copy_local(outs.of[r].at, outs.of[r].data, cpu(0), sum, part.bytes(), operation_.name);
    }
  }

 private:
  [[gnu::cold]] void log() const {
    if (!runtime::is_watched(runtime::watcher::log)) return;
    auto const how = by_.describe(&job_);
    log_event e;
    e.kind = event_kind::collective, e.name = operation_.name, e.tensors = 1;
    e.over = use_of(place{devices_}.mirrored()), e.reason = how.view(), e.bytes = job_.bytes();
    runtime::log(e);
  }
  local_parts parts_;
  device_list devices_;
  replica_topology topology_;
  replica_reducer by_;
  local_operation operation_;
  reduction_job job_;
  local_scratch scratch_;
};

}  // namespace locus::detail

LOCUS_COLD_END
