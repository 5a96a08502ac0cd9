// SPDX-License-Identifier: Apache-2.0
// What is there: cards, and the logical devices that they are.
#pragma once
#include <locus/backend/gpus.hpp>  // devices_with_gpus
#include <locus/config/names.hpp>  // physical_device

namespace locus::config {

/// A logical device: what GpuDevice<0> names.     units: bytes
/// after: tf.config.LogicalDevice
struct logical_device {
  device_text name;       // /device:GPU:0
  std::string_view type;  // "CPU" or "GPU"
  int index = -1;
  physical_device physical;
  std::int64_t memory_limit = 0;
};
using logical_list = value_list<logical_device, 2 * runtime::max_logical>;

/// means: the host's processors and the cards that this process sees, or those of one type
/// cost:  the driver is asked once; no context is made, nothing is frozen
/// fails: unknown_device for another type; configuration_error for a malformed variable
/// after: tf.config.list_physical_devices
inline physical_list list_physical_devices(std::string_view type = "") {
  std::string_view const wanted = detail::find_type(type);
  lock_guard hold(runtime::table.lock);
  physical_list list;
  for (physical_device const& d : detail::all_physical(runtime::find_physical()))
    if (wanted.empty() || d.type == wanted) list.push(d);
  return list;
}

/// means: the devices that plans may name, in the order of their ordinals
/// cost:  the first call makes them; from then on the configuration is frozen
/// fails: as list_physical_devices
/// after: tf.config.list_logical_devices
inline logical_list list_logical_devices(std::string_view type = "",
                                         call_site where = call_site::here()) {
  std::string_view const wanted = detail::find_type(type);
  runtime::device_table const& t = runtime::devices_with_gpus("list_logical_devices", where);
  logical_list list;
  auto add = [&](locus::logical_device const& d, int card) {
    logical_device l;
    l.type = d.name.is_gpu() ? "GPU" : "CPU", l.index = d.name.ordinal();
    l.name << "/device:" << l.type << ":" << l.index;
    l.physical = make_physical(d.name.is_gpu(), card), l.memory_limit = d.memory.limit;
    if (wanted.empty() || wanted == l.type) list.push(l);
  };
  for (int i = 0; i < runtime::configured.cpus; ++i) add(t.cpu_devices[i], 0);
  for (int i = 0; i < t.gpus; ++i) add(t.gpu_devices[i], t.gpu_devices[i].card);
  return list;
}

}  // namespace locus::config
