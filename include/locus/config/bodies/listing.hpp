// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/listing.hpp declares.
#pragma once
#include <locus/backend/gpus.hpp>    // devices_with_gpus
#include <locus/config/listing.hpp>  // the declarations
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION

namespace locus::config {

LOCUS_FUNCTION physical_list list_physical_devices(std::string_view type) {
  std::string_view const wanted = detail::find_type(type);
  lock_guard hold(runtime::table.lock);
  physical_list list;
  for (physical_device const& d : detail::all_physical(runtime::find_physical()))
    if (wanted.empty() || d.type == wanted) list.push(d);
  return list;
}

LOCUS_FUNCTION logical_list list_logical_devices(std::string_view type, call_site where) {
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
