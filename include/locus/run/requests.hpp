// SPDX-License-Identifier: Apache-2.0
// Hard placement (config::set_soft_device_placement(false)): a step that on<Device>() places runs
// on that device, or the plan is refused before its first step.
#pragma once
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/open.hpp>     // open_devices
#include <locus/plan/data.hpp>       // plan_view

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: some step requests a device, as in on<GpuDevice<0>>(e)
constexpr bool has_requests(plan_view const& p) {
  for (step const& s : p.steps)
    if (!s.request.is_none()) return true;
  return false;
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_missing_kernel(step const& s, short i,
                                                                  device asked, call_site site);

/// means: each requested device exists, and has a kernel for the step; nothing has run
/// fails: unknown_device, placement_error; each text names step, device, call site and remedy
[[gnu::cold]] LOCUS_FUNCTION void hold_to_requests(plan_view const& p, open_devices const& open,
                                                   call_site site);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/requests.hpp>  // bodies of the functions above
#endif
