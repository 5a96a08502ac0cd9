// SPDX-License-Identifier: Apache-2.0
// Memory of the user's for the tensors of a device: an HPC code's own pool (Umpire, RMM).
#pragma once
#include <locus/core/array.hpp>      // dynamic_array
#include <locus/core/macros.hpp>     // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>     // device_named
#include <locus/device/policy.hpp>   // single_device
#include <locus/memory/regions.hpp>  // memory_resource

LOCUS_COLD_BEGIN

namespace locus::config {

namespace detail {
/// Pools whose memory went back: who asked for statistics may still look at one. They are small.
LOCUS_SHARED_STATE inline void keep_empty_pool(runtime::region_pool* pool) {
  static auto* const all = new dynamic_array<runtime::region_pool*>;
  all->push(pool);
}
[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_resource(device name, std::int64_t in_use);
/// An allocation counts its bytes and looks for its pool then; here the pool goes and the bytes are
/// looked at then. So one of two threads sees the other, and the program keeps what it had.
/// fails: configuration_error, while memory of the device is in use; unknown_device, where another GPU
///        works for it with its own memory
LOCUS_FUNCTION void give_resource(device name, memory_resource const& resource);
LOCUS_FUNCTION memory_resource own_resource(device name);
}  // namespace detail

/// means: memory of tensors and plans on that device comes from the resource from now on, in regions
///        of some MiB (memory growth) or in one region (growth off), under the device's limit. An
///        empty resource: from the device itself again
/// fails: configuration_error, while memory of the device is in use; unknown_device
/// after: rmm::mr::device_memory_resource, umpire::Allocator; std::pmr's split of functions from
///        what they need
inline void set_memory_resource(std::string_view name, memory_resource const& resource) {
  detail::give_resource(device_named(name), resource);
}
template <single_device Device>
void set_memory_resource(memory_resource const& resource) {
  detail::give_resource(Device::value.at(0), resource);
}
/// means: what memory of that device comes from where no resource is given: what a resource of the
///        user's may count, log or pool
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
