// SPDX-License-Identifier: Apache-2.0
// What logical devices hold: asked by name, or by policy.
#pragma once
#include <locus/backend/gpus.hpp>    // devices_with_gpus
#include <locus/device/name.hpp>     // device_named, parse_name
#include <locus/device/policy.hpp>   // single_device
#include <locus/runtime/config.hpp>  // read_memory, reset_memory

namespace locus::config {

namespace detail {
/// means: the one logical device that a name matches; a GPU that is not there counts once its steps
///        run elsewhere
/// fails: unknown_device, for a malformed name, and where no device or several match
inline device find_account(std::string_view name, char const* call, call_site where) {
  device const first = device_named(name);
  runtime::device_table const& t = runtime::devices_with_gpus(call, where);
  int const there = first.is_gpu() ? t.gpus : runtime::configured.cpus;
  bool const any = parse_name(name).id < 0;  // "/device:GPU", "/gpu:*"
  bool const known = !any && (!first.is_gpu() || t.told[first.ordinal()]);
  if (known || first.ordinal() < (any && there > 1 ? 0 : there)) return first;
  message text;
  text << "locus: "
       << (there > 1 && any ? "multiple devices match" : "no matching devices found for")
       << " the device name \"" << shown(name).view() << "\" (present: " << runtime::configured.cpus
       << " CPU";
  throw unknown_device(text << ", " << t.gpus << " GPU); name one of list_logical_devices");
}
template <class Device>
consteval void require_known_device() {
  static_assert(
      !open_device<Device>,
      "locus: GpuDevice<dyn> by itself names no device; write get_memory_info(\"/GPU:2\")");
}
}  // namespace detail

/// means: what tensors and plans hold on a logical device now, the most since the last reset, ...
///        CPUs are counted too.
/// fails: unknown_device, for a malformed name, and where no device or several match
/// after: tf.config.experimental.get_memory_info, reset_memory_stats
inline memory_info get_memory_info(std::string_view name, call_site where = call_site::here()) {
  return detail::read_memory(detail::find_account(name, "get_memory_info", where));
}
template <single_device Device>
memory_info get_memory_info(call_site where = call_site::here()) {
  detail::require_known_device<Device>();
  runtime::devices_with_gpus("get_memory_info", where);
  return detail::read_memory(Device::value.at(0));
}
inline void reset_memory_stats(std::string_view name, call_site where = call_site::here()) {
  detail::reset_memory(detail::find_account(name, "reset_memory_stats", where));
}
template <single_device Device>
void reset_memory_stats(call_site where = call_site::here()) {
  detail::require_known_device<Device>();
  runtime::devices_with_gpus("reset_memory_stats", where);
  detail::reset_memory(Device::value.at(0));
}

}  // namespace locus::config
