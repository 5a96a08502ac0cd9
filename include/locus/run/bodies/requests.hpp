// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/requests.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>  // request_devices
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/run/requests.hpp>     // the declarations
#include <locus/watch/site_text.hpp>  // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void refuse_missing_kernel(step const& s, short i, device asked, call_site site) {
  message text;
  text << "locus: '" << s.name << "' (step " << int(i) << ") has no " << s.side_without_kernel()
       << " kernel for its element types, and " << asked << " is asked for";
  if (site.is_set() || site.is_code()) runtime::write_site(text << " at ", site);
  throw placement_error(text << " while soft placement is off; place it with on<"
                             << (asked.is_gpu() ? "CpuDevice" : "GpuDevice<0>")
                             << ">, or switch soft placement on");
}

LOCUS_FUNCTION void hold_to_requests(plan_view const& p, open_devices const& open, call_site site) {
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
