// SPDX-License-Identifier: Apache-2.0
// A step on a GPU in a unit that made no kernel for it: the kernel of another unit, or else the host
// with the operands brought there and back.
#pragma once
#include <locus/backend/cuda/streams.hpp>     // check_cuda, current_card
#include <locus/backend/far.hpp>              // far_work, missing_kernel
#include <locus/core/array.hpp>               // dynamic_array
#include <locus/core/config.hpp>              // LOCUS_UNIT_FILE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>               // no_kernel_in_unit
#include <locus/device/name.hpp>              // message << device
#include <locus/runtime/host_memory.hpp>      // host_memory
#include <locus/runtime/kernel_registry.hpp>  // kernels, work_id
#include <locus/runtime/log.hpp>              // warn, placement_log

LOCUS_COLD_BEGIN

namespace locus {

namespace cuda_side {

/// means: another unit's kernel for the same work, or null
inline runtime::kernel_entry const* find_kernel(missing_kernel& m) {
  unsigned const now = runtime::kernels.changes();
  if (__atomic_load_n(&m.seen, __ATOMIC_ACQUIRE) != now) {
    auto const* const e = m.of.name.empty() || runtime::is_local_to_unit(m.of.name)
                              ? nullptr
                              : runtime::kernels.find(m.of);
    __atomic_store_n(&m.found, e, __ATOMIC_RELAXED);
    __atomic_store_n(&m.seen, now, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&m.found, __ATOMIC_RELAXED);
}

namespace detail {
template <class Text>
Text& write_remedy(Text& text, missing_kernel const& m) {
  char const* const missing = "no unit of this program made ";
  char const* const door = "; LOCUS_INSTANTIATE_ALGORITHMS(element types) in one .cu that includes "
                           "<locus/cub.cuh> makes what locus has";
  if (m.algorithm && *m.algorithm) return text << missing << m.algorithm << door;
  text << "no unit of this program made a GPU kernel for it; ";
  if (runtime::is_local_to_unit(m.of.name))
    return text
           << "its functor lies in an unnamed namespace, which other units cannot name: compile "
           << m.unit << " with nvcc and <locus/cuda.cuh>, or give the functor a name";
  if (m.of.name.empty())
    return text << "compile " << m.unit << " without -fno-rtti, or with nvcc and <locus/cuda.cuh>";
  text << "compile " << m.unit
       << " with nvcc and <locus/cuda.cuh>, or write LOCUS_INSTANTIATE(expression type) in a "
          ".cu";
  if (m.algorithm) text << door;
  return text;
}
}  // namespace detail

/// fails: no_kernel_in_unit, when two units of the program see the type of work differently
[[gnu::cold]] inline void require_same_layout(launch_site const& site, missing_kernel const& m) {
  if (m.found->of.bytes == m.of.bytes && m.found->of.alignment == m.of.alignment) return;
  message text;
  throw no_kernel_in_unit(text << "locus: step " << int(site.record.number) << " ("
                               << site.record.name << "): its functor has " << m.of.bytes
                               << " bytes in " << m.unit << " and " << m.found->of.bytes
                               << " in the unit that made its GPU kernel; define it alike in both");
}

/// means: said once, counted each time
/// fails: no_kernel_in_unit without soft placement
[[gnu::cold]] inline void announce_round_trip(launch_site const& site, missing_kernel& m) {
  if (!__atomic_load_n(&runtime::table.soft_placement, __ATOMIC_RELAXED)) {
    message text;
    text << "locus: step " << int(site.record.number) << " (" << site.record.name << ") on "
         << site.on->name << ": ";
    throw no_kernel_in_unit(detail::write_remedy(text, m));
  }
  __atomic_add_fetch(&runtime::host_round_trips, 1, __ATOMIC_RELAXED);
  bool const first = !__atomic_exchange_n(&m.told, true, __ATOMIC_RELAXED);
  log_frequency const how_often = runtime::how_often_logged();
  bool const log = how_often == log_frequency::every || (how_often == log_frequency::once && first);
  if (!first && !log) return;
  log_line line;
  line << "locus: step " << int(site.record.number) << " (" << site.record.name << ") of "
       << site.on->name << " runs on the host, its operands travel there and back: ";
  detail::write_remedy(line, m);
  if (log)
    runtime::write_line(line);
  else
    runtime::warn(line);
}

/// means: the operands of a step in host memory, in the order of the device's queues
/// cost:  waits for the device; copies what is read and written to the host, what is written back
class host_operands {
 public:
  explicit host_operands(launch_site const& site) : host_operands(&site) {
    for (int k = 0; k < site.operand_count; ++k) add(site.operands[k]);
    wait(queue_kind::copy);  // what is on its way to this device
    for (range& r : ranges_) {
      r.here = runtime::host_memory.allocate(r.bytes);
      if (!r.here) {
        message text;
        throw out_of_memory(text << "locus: no memory on the host for " << r.bytes
                                 << " bytes of step " << int(site.record.number) << " ("
                                 << site.record.name << "); free tensors");
      }
      move(r.here, r.there, r.bytes);
    }
    wait(queue_kind::compute);
  }
  host_operands(host_operands const&) = delete;
  ~host_operands() {
    if (in_flight_) {
      runtime::card_scope const scope(site_.on->card);
      runtime::gpu_api->stream_synchronize(stream(queue_kind::compute));
    }
    for (range& r : ranges_)
      if (r.here) runtime::host_memory.release(r.here, r.bytes);
  }
  /// where the host finds what the device has at p
  void* operator()(void* p) const {
    for (range const& r : ranges_)
      if (r.there <= p && p < r.there + r.bytes)
        return static_cast<char*>(r.here) + (static_cast<char*>(p) - r.there);
    return p;  // of no elements
  }
  void bring_back() {
    for (range& r : ranges_)
      if (r.writes) move(r.there, r.here, r.bytes);
    wait(queue_kind::compute);
  }

 private:
  struct range {
    char* there = nullptr;
    std::size_t bytes = 0;
    bool writes = false;
    void* here = nullptr;
  };
  /// from here on the destructor runs whatever is thrown
  explicit host_operands(launch_site const* site) : site_(*site) {}

  /// operands that overlap are one range: a step may read where it writes
  void add(touched const& t) {
    range fresh{static_cast<char*>(const_cast<void*>(t.first)), t.bytes, t.writes, nullptr};
    for (std::size_t k = 0; k < ranges_.size();) {
      range const& r = ranges_[k];
      char *const end = fresh.there + fresh.bytes, *const r_end = r.there + r.bytes;
      if (r_end <= fresh.there || end <= r.there) {
        ++k;
        continue;
      }
      if (r.there < fresh.there) fresh.there = r.there;
      fresh.bytes = static_cast<std::size_t>((end < r_end ? r_end : end) - fresh.there);
      fresh.writes = fresh.writes || r.writes;
      ranges_.remove(k);
      k = 0;  // it has grown
    }
    ranges_.push(fresh);
  }
  void move(void* to, void const* from, std::size_t bytes) {
    runtime::current_card const scope(*site_.on);
    in_flight_ = true;
    runtime::check_cuda(
        runtime::gpu_api->memcpy_async(to, from, bytes, stream(queue_kind::compute)), "a copy",
        site_.on->name);
  }
  void wait(queue_kind kind) {
    runtime::card_scope const scope(site_.on->card);
    runtime::check_cuda(runtime::gpu_api->stream_synchronize(stream(kind)), "waiting for a GPU",
                        site_.on->name);
    if (kind == queue_kind::compute) in_flight_ = false;
  }
  void* stream(queue_kind kind) { return runtime::cuda_queue_of(*site_.on, kind).stream; }

  launch_site const& site_;
  dynamic_array<range> ranges_;
  bool in_flight_ = false;
};

/// means: work that its unit has no kernel for, on a GPU
/// cost:  another unit's kernel: a few loads more than a launch of one's own
/// fails: no_kernel_in_unit, without soft placement, or where units see the functor differently
inline void run_elsewhere(launch_site const& site, far_work const& work) {
  missing_kernel& missing = *work.missing;
  if (auto const* const e = find_kernel(missing)) {
    if (e->of.bytes != missing.of.bytes || e->of.alignment != missing.of.alignment)
      require_same_layout(site, missing);
    return e->launch(site, work.work);
  }
  if (site.workspace && site.workspace->measuring) return;
  announce_round_trip(site, missing);
  host_operands here(site);
  held_work const mine(work);
  work.for_each_pointer(
      mine.work(),
      [](void* operands, void*& p) { p = (*static_cast<host_operands const*>(operands))(p); },
      &here);
  mine();
  here.bring_back();
}

}  // namespace cuda_side
}  // namespace locus

LOCUS_COLD_END
