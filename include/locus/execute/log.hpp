// SPDX-License-Identifier: Apache-2.0
// The placement log: TensorFlow's words for operations, and what TensorFlow does not say: copies,
// collectives, creations and fallbacks.
#pragma once
#include <locus/backend/seam.hpp>  // logical_device
#include <locus/core/config.hpp>   // LOCUS_COLD_BEGIN
#include <locus/plan/data.hpp>     // step, transfer
#include <locus/runtime/log.hpp>   // log_event, log

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// where work for a device really runs, and why not there
[[gnu::cold]] inline device_use use_of(logical_device const& d) {
  if (!d.name.is_gpu() || d.how != backing::host) return {d.name, d.name, {}};
  return {d.name, cpu(0),
          runtime::table.why_no_gpu == runtime::absence::none
              ? std::string_view("it is not there")
              : sentence(runtime::table.why_no_gpu)};
}

[[gnu::cold]] inline void log_step(step const& s, short number, shape const& extents,
                                   logical_device const& d, call_site site) {
  if (s.tensorflow.empty()) return;  // a part of an operation that has a line of its own
  log_event e;
  message reason;
  e.kind = event_kind::step, e.step = number, e.name = s.tensorflow, e.on = use_of(d);
  e.extents = extents, e.site = site;
  if (s.fell_back) {
    e.request = s.request;
    e.reason = (reason << "'" << s.name << "' has no GPU kernel").view();
  }
  runtime::log(e);
}
[[gnu::cold]] inline void log_copy(transfer_kind how, step const& s, short number,
                                   std::int64_t bytes, logical_device const& from,
                                   logical_device const& to, std::string_view skipped,
                                   call_site site) {
  log_event e;
  e.kind = event_kind::copy, e.step = number, e.name = name_of(how), e.of = s.name;
  e.from = use_of(from), e.on = use_of(to), e.bytes = bytes, e.site = site;
  e.skipped = !skipped.empty(), e.reason = skipped;
  runtime::log(e);
}
[[gnu::cold]] inline void log_collective(transfer_kind how, plan_view const& p, short bucket,
                                         place const& over, std::string_view algorithm,
                                         std::int64_t bytes, call_site site) {
  log_event e;
  for (transfer const& t : p.transfers) e.tensors += t.bucket == bucket && bucket >= 0;
  if (e.tensors == 0) e.tensors = 1;
  e.kind = event_kind::collective, e.name = name_of(how), e.over = over, e.reason = algorithm;
  e.bytes = bytes, e.site = site;
  runtime::log(e);
}
[[gnu::cold]] inline void log_creation(std::string_view type, shape const& extents,
                                       place const& where, call_site site) {
  log_event e;
  e.kind = event_kind::creation, e.name = type, e.extents = extents, e.over = where, e.site = site;
  runtime::log(e);
}
[[gnu::cold]] inline void log_tensor_copy(std::string_view type, shape const& extents,
                                          std::int64_t bytes, logical_device const& on,
                                          call_site site) {
  log_event e;
  e.kind = event_kind::copy, e.name = type, e.extents = extents, e.bytes = bytes;
  e.on = {on.name, on.name, {}}, e.from = e.on, e.site = site;
  runtime::log(e);
}

}  // namespace detail

}  // namespace locus

LOCUS_COLD_END
