// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/cuda/missing_kernel.hpp declares.
#pragma once
#include <cstdio>  // remove

#include <locus/backend/cuda/missing_kernel.hpp>  // the declarations
#include <locus/core/error.hpp>                   // no_kernel_in_unit
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/host_memory.hpp>          // host_memory
#include <locus/watch/log.hpp>                    // warn

LOCUS_COLD_BEGIN

namespace locus::cuda_side {

LOCUS_FUNCTION runtime::kernel_entry const* find_kernel(missing_kernel& m) {
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

LOCUS_FUNCTION void require_same_layout(launch_site const& site, missing_kernel const& m) {
  if (m.found->of.bytes == m.of.bytes && m.found->of.alignment == m.of.alignment) return;
  message text;
  throw no_kernel_in_unit(text << "locus: step " << int(site.record.number) << " ("
                               << site.record.name << "): its functor has " << m.of.bytes
                               << " bytes in " << m.unit << " and " << m.found->of.bytes
                               << " in the unit that made its GPU kernel; define it alike in both");
}

LOCUS_FUNCTION void announce_round_trip(launch_site const& site, missing_kernel& m) {
  if (!__atomic_load_n(&runtime::table.soft_placement, __ATOMIC_RELAXED)) {
    message text;
    text << "locus: step " << int(site.record.number) << " (" << site.record.name << ") on "
         << site.on->name << ": ";
    throw no_kernel_in_unit(write_remedy(text, m));
  }
  __atomic_add_fetch(&runtime::host_round_trips, 1, __ATOMIC_RELAXED);
  bool const first = !__atomic_exchange_n(&m.told, true, __ATOMIC_RELAXED);
  log_frequency const how_often = runtime::how_often_logged();
  bool const log = how_often == log_frequency::every || (how_often == log_frequency::once && first);
  if (!first && !log) return;
  log_line line;
  line << "locus: step " << int(site.record.number) << " (" << site.record.name << ") of "
       << site.on->name << " runs on the host, its operands travel there and back: ";
  write_remedy(line, m);
  if (log)
    runtime::write_line(line);
  else
    runtime::warn(line);
}

LOCUS_FUNCTION host_operands::host_operands(launch_site const& site) : host_operands(&site) {
  for (int k = 0; k < site.operand_count; ++k) add(site.operands[k]);
  wait(queue_kind::copy);  // waits for copies to this device that are under way
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

LOCUS_FUNCTION host_operands::~host_operands() {
  if (in_flight_) {
    runtime::card_scope const scope(site_.on->card);
    runtime::gpu_api->stream_synchronize(stream(queue_kind::compute));
  }
  for (range& r : ranges_)
    if (r.here) runtime::host_memory.release(r.here, r.bytes);
}

LOCUS_FUNCTION void* host_operands::operator()(void* p) const {
  for (range const& r : ranges_)
    if (r.there <= p && p < r.there + r.bytes)
      return static_cast<char*>(r.here) + (static_cast<char*>(p) - r.there);
  return p;  // the pointer of an empty operand
}

LOCUS_FUNCTION void host_operands::bring_back() {
  for (range& r : ranges_)
    if (r.writes) move(r.there, r.here, r.bytes);
  wait(queue_kind::compute);
}

LOCUS_FUNCTION void host_operands::add(touched const& t) {
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
    k = 0;  // the range has grown: compare it with all again
  }
  ranges_.push(fresh);
}

LOCUS_FUNCTION void host_operands::move(void* to, void const* from, std::size_t bytes) {
  runtime::current_card const scope(*site_.on);
  in_flight_ = true;
  runtime::check_cuda(runtime::gpu_api->memcpy_async(to, from, bytes, stream(queue_kind::compute)),
                      "a copy", site_.on->name);
}

LOCUS_FUNCTION void host_operands::wait(queue_kind kind) {
  runtime::card_scope const scope(site_.on->card);
  runtime::check_cuda(runtime::gpu_api->stream_synchronize(stream(kind)), "waiting for a GPU",
                      site_.on->name);
  if (kind == queue_kind::compute) in_flight_ = false;
}

LOCUS_FUNCTION void run_elsewhere(launch_site const& site, erased_work const& work) {
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

}  // namespace locus::cuda_side

LOCUS_COLD_END
