// SPDX-License-Identifier: Apache-2.0
// Memory in use on logical devices, by name or by policy.
#pragma once
#include <locus/backend/gpus.hpp>     // devices_with_gpus
#include <locus/config/settings.hpp>  // read_memory, reset_memory
#include <locus/core/macros.hpp>      // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/device/policy.hpp>    // single_device

namespace locus::config {

namespace detail {
[[noreturn]] LOCUS_FUNCTION void refuse_account(std::string_view name, bool several);
/// means: the logical device that counts the memory of d: d itself; where GPU d is not there, the
///        device that replaced it, once d was used
/// fails: unknown_device, where d is not there, and was not used yet or placement is hard
LOCUS_FUNCTION runtime::logical_device& account_of(device d, std::string_view name);
/// means: the one logical device that matches a name
/// fails: unknown_device, for a malformed name, and where no device or several match
LOCUS_FUNCTION runtime::logical_device& find_account(std::string_view name, char const* call,
                                                     call_site where);
template <class Device>
runtime::logical_device& find_account(char const* call, call_site where) {
  static_assert(
      !open_device<Device>,
      "locus: GpuDevice<dyn> by itself names no device; write get_memory_info(\"/GPU:2\")");
  runtime::devices_with_gpus(call, where);
  runtime::request_devices(Device::value, call, where);
  return runtime::find_device(Device::value.at(0));
}
}  // namespace detail

/// means: the memory that tensors and plans hold on a logical device now, its peak since the last
///        reset, ... CPUs have counts too. Memory for a missing GPU counts for the device that
///        replaced it.
///        A policy is a use of its device, as a tensor on it is: soft placement replaces a missing
///        GPU. A name is no use: it finds a missing GPU only after a use
/// fails: unknown_device, for a malformed name, and where no device or several match
/// after: tf.config.experimental.get_memory_info, reset_memory_stats
inline memory_info get_memory_info(std::string_view name, call_site where = call_site::here()) {
  return detail::read_memory(detail::find_account(name, "get_memory_info", where));
}
template <single_device Device>
memory_info get_memory_info(call_site where = call_site::here()) {
  return detail::read_memory(detail::find_account<Device>("get_memory_info", where));
}
inline void reset_memory_stats(std::string_view name, call_site where = call_site::here()) {
  detail::reset_memory(detail::find_account(name, "reset_memory_stats", where));
}
template <single_device Device>
void reset_memory_stats(call_site where = call_site::here()) {
  detail::reset_memory(detail::find_account<Device>("reset_memory_stats", where));
}

}  // namespace locus::config

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/memory.hpp>  // bodies of the functions above
#endif
