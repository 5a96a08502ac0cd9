// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/log.hpp declares.
#pragma once
#include <locus/backend/device_use.hpp>  // use_of
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/run/log.hpp>             // the declarations
#include <locus/watch/log.hpp>           // log
#include <locus/watch/site_text.hpp>     // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void log_step(step const& s, short number, shape const& extents, device on,
                             std::string_view kernel, call_site site) {
  if (s.tensorflow.empty()) return;  // the step is a part of an operation whose own step is logged
  log_event e;
  message reason;
  e.kind = event_kind::step, e.step = number, e.name = s.tensorflow, e.on = use_of(on);
  e.extents = extents, e.site = site, e.kernel = kernel;
  if (s.fell_back) {
    e.request = s.request;
    e.reason =
        (reason << "'" << s.name << "' has no " << s.side_without_kernel() << " kernel").view();
  }
  runtime::log(e);
}

LOCUS_FUNCTION void say_fallback(step const& s, short number, shape const& extents,
                                 call_site site) {
  message reason;
  reason << "locus: '" << s.name << "' has no " << s.side_without_kernel()
         << " kernel for its element types and runs on " << s.where;
  if (!s.request.is_none()) reason << "; " << s.request << " was asked for";
  if (site.is_set() || site.is_code()) runtime::write_site(reason << " at ", site);
  log_event e;
  e.kind = event_kind::fallback, e.step = number, e.name = s.name, e.extents = extents;
  e.on = use_of(s.where.at(0)), e.request = s.request, e.site = site, e.reason = reason.view();
  bool const matters = !s.request.is_none() || runtime::table.gpus > 0;
  runtime::warn(e, matters && is_first_of_operation(s.name));
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void log_copy(transfer_kind how, step const& s, short number, std::int64_t bytes,
                             device from, device to, std::string_view skipped, call_site site) {
  log_event e;
  e.kind = event_kind::copy, e.step = number, e.name = name_of(how), e.of = s.name;
  e.from = use_of(from), e.on = use_of(to), e.bytes = bytes, e.site = site;
  e.skipped = !skipped.empty(), e.reason = skipped;
  runtime::log(e);
}

}  // namespace locus::internal

namespace locus::detail {

LOCUS_FUNCTION void log_collective(transfer_kind how, plan_view const& p, short bucket,
                                   place const& over, std::string_view algorithm,
                                   std::int64_t bytes, call_site site) {
  log_event e;
  for (transfer const& t : p.transfers) e.tensors += t.bucket == bucket && bucket >= 0;
  if (e.tensors == 0) e.tensors = 1;
  e.kind = event_kind::collective, e.name = name_of(how), e.over = use_of(over),
  e.reason = algorithm;
  e.bytes = bytes, e.site = site;
  runtime::log(e);
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void log_creation(std::string_view type, shape const& extents, place const& where,
                                 call_site site) {
  log_event e;
  e.kind = event_kind::creation, e.name = type, e.extents = extents, e.over = use_of(where),
  e.site = site;
  runtime::log(e);
}

LOCUS_FUNCTION void log_tensor_copy(std::string_view type, shape const& extents, std::int64_t bytes,
                                    device on, call_site site) {
  log_event e;
  e.kind = event_kind::copy, e.name = type, e.extents = extents, e.bytes = bytes;
  e.on = use_of(on), e.from = e.on, e.site = site;
  runtime::log(e);
}

}  // namespace locus::internal

LOCUS_COLD_END
