// SPDX-License-Identifier: Apache-2.0
// The device that does the work of a device that a program named, for logs, traces and reports.
#pragma once
#include <locus/backend/devices.hpp>      // find_device
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/watch/event.hpp>          // device_use, place_use

LOCUS_COLD_BEGIN

namespace locus::internal {

/// means: `asked`, or the device that stands in for it, with the reason
[[gnu::cold]] inline device_use use_of(device asked) {
  logical_device const& d = runtime::find_device(asked);
  if (!asked.is_gpu() || !d.is_host()) return {asked, d.name, {}};
  return {asked, cpu(0), sentence(runtime::table.why_no_gpu)};
}
/// means: the same for each device of a placement
[[gnu::cold]] inline place_use use_of(place const& asked) {
  place_use all{asked, asked, {}};
  device_list used;
  for (int r = 0; r < asked.local_count(); ++r) {
    device_use const u = use_of(asked.at(r));
    used.push(u.used);
    if (!u.why.empty()) all.why = u.why;
  }
  all.used = asked.over(used);
  return all;
}

}  // namespace locus::internal

LOCUS_COLD_END
