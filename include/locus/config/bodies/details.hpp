// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/details.hpp declares.
#pragma once
#include <locus/config/details.hpp>       // the declarations
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION
#include <locus/runtime/host_memory.hpp>  // physical_memory

namespace locus::config {

LOCUS_FUNCTION device_details get_device_details(device_argument const& device) {
  lock_guard hold(runtime::table.lock);
  runtime::physical_devices const& p = runtime::find_physical();
  physical_device const d = detail::find_named(device, p);
  device_details out;
  if (d.type == "CPU") {
    out.name << "the host", out.memory = runtime::physical_memory();
    return out;
  }
  runtime::cuda_device_facts const& f = p.cards[d.index];
  out.name << std::string_view(f.name), out.uuid << std::string_view(f.uuid),
      out.bus << std::string_view(f.bus);
  out.memory = static_cast<std::int64_t>(f.total_bytes), out.major = f.major, out.minor = f.minor;
  return out;
}

LOCUS_FUNCTION library_versions versions() {
  lock_guard hold(runtime::table.lock);
  library_versions v;
  if (!runtime::gpu_api) return v;
  if (runtime::gpu_api->driver_version(&v.driver) != 0) v.driver = 0;
  if (runtime::gpu_api->runtime_version(&v.runtime) != 0) v.runtime = 0;
  runtime::gpu_api->library_versions(&v.cublas, &v.nccl, &v.cudnn);
  return v;
}

}  // namespace locus::config
