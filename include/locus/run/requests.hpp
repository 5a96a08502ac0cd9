// SPDX-License-Identifier: Apache-2.0
// Hard placement (config::set_soft_device_placement(false)): each step that a program asks for by
// name runs where it is asked for, or the plan is refused before its first step.
#pragma once
#include <locus/core/call_site.hpp>  // call_site
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/open.hpp>     // open_devices
#include <locus/plan/data.hpp>       // plan_view

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: some step is asked for by name, as in on<GpuDevice<0>>(e)
constexpr bool has_requests(plan_view const& p) {
  for (step const& s : p.steps)
    if (!s.request.is_none()) return true;
  return false;
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_missing_kernel(step const& s, short i,
                                                                  device asked, call_site site);

/// means: what a plan asks for by name is there, and has kernels there; nothing has run
/// fails: unknown_device, placement_error, each naming step, device, call site and remedy
[[gnu::cold]] LOCUS_FUNCTION void hold_to_requests(plan_view const& p, open_devices const& open,
                                                   call_site site);

}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/requests.hpp>  // bodies of the functions above
#endif
