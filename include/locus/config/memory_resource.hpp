// SPDX-License-Identifier: Apache-2.0
// Memory resources of the program for tensors: the pool of an HPC code (Umpire, RMM).
#pragma once
#include <locus/core/array.hpp>      // dynamic_array
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>     // device_named
#include <locus/device/policy.hpp>   // single_device
#include <locus/memory/regions.hpp>  // memory_resource

LOCUS_COLD_BEGIN

namespace locus::config {

namespace detail {
/// Keeps pools without memory: a thread that reads statistics may still use one. They are small.
LOCUS_SHARED_STATE inline void keep_empty_pool(runtime::region_pool* pool) {
  static auto* const all = new dynamic_array<runtime::region_pool*>;
  all->push(pool);
}
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_resource(device name, std::int64_t in_use);
/// An allocation first counts its bytes and then looks for the pool; this function first removes
/// the pool and then looks at the bytes in use. So one of two threads sees the other's change; if
/// it is this function, it puts back the old pool or the old resource and throws.
/// fails: configuration_error, while memory of the device is in use; unknown_device, for a GPU that
///        is not there
LOCUS_FUNCTION void give_resource(device name, memory_resource const& resource);
LOCUS_FUNCTION memory_resource own_resource(device name);
}  // namespace detail

/// means: memory of tensors and plans on that device comes from the resource from now on, in
///        regions of some MiB (memory growth) or in one region (growth off), up to the device's
///        limit. An empty resource: memory comes from the device's driver again
/// fails: configuration_error, while memory of the device is in use; unknown_device
/// after: rmm::mr::device_memory_resource, umpire::Allocator; like std::pmr, functions and their
///        context are separate
inline void set_memory_resource(std::string_view name, memory_resource const& resource) {
  detail::give_resource(device_named(name), resource);
}
template <single_device Device>
void set_memory_resource(memory_resource const& resource) {
  detail::give_resource(Device::value.at(0), resource);
}
/// means: the resource of that device when the program gives none; a resource of the program may
///        wrap it to count, log or pool
inline memory_resource get_memory_resource(std::string_view name) {
  return detail::own_resource(device_named(name));
}
template <single_device Device>
memory_resource get_memory_resource() {
  return detail::own_resource(Device::value.at(0));
}

}  // namespace locus::config

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/config/bodies/memory_resource.hpp>  // bodies of the functions above
#endif
