// SPDX-License-Identifier: Apache-2.0
// Hard placement (config::set_soft_device_placement(false)): each step that a program asks for by
// name runs where it is asked for, or the plan is refused before its first step.
#pragma once
#include <locus/backend/devices.hpp>    // request_devices
#include <locus/core/config.hpp>        // LOCUS_COLD_BEGIN
#include <locus/device/open.hpp>        // open_devices
#include <locus/plan/data.hpp>          // plan_view
#include <locus/runtime/site_text.hpp>  // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: some step is asked for by name, as in on<GpuDevice<0>>(e)
constexpr bool has_requests(plan_view const& p) {
  for (step const& s : p.steps)
    if (!s.request.is_none()) return true;
  return false;
}

[[noreturn, gnu::cold]] inline void refuse_missing_kernel(step const& s, short i, device asked,
                                                          call_site site) {
  message text;
  text << "locus: '" << s.name << "' (step " << int(i) << ") has no " << s.side_without_kernel()
       << " kernel for its element types, and " << asked << " is asked for";
  if (site.is_set() || site.is_code()) runtime::write_site(text << " at ", site);
  throw placement_error(text << " while soft placement is off; place it with on<"
                             << (asked.is_gpu() ? "CpuDevice" : "GpuDevice<0>")
                             << ">, or switch soft placement on");
}

/// means: what a plan asks for by name is there, and has kernels there; nothing has run
/// fails: unknown_device, placement_error, each naming step, device, call site and remedy
[[gnu::cold]] inline void hold_to_requests(plan_view const& p, open_devices const& open,
                                           call_site site) {
  for (short i = 0; i < p.steps.count; ++i) {
    step const& s = p.steps[i];
    if (s.request.is_none()) continue;
    device const asked = open.of(s.request);
    message who;
    who << "'" << s.name << "' (step " << int(i) << ")";
    if (!asked.is_open() && !asked.is_none())
      runtime::request_devices(single(asked), who.view(), site);
    if (s.fell_back) refuse_missing_kernel(s, i, asked, site);
  }
}

}  // namespace locus::detail

LOCUS_COLD_END
