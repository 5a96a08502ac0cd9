// SPDX-License-Identifier: Apache-2.0
// The source of a device's blocks: a region pool over its card, over the arena of a simulated card,
// or over a memory resource of the program; the host has its own pool.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/device/device.hpp>        // device
#include <locus/device/name.hpp>          // message << device
#include <locus/machine/launch_site.hpp>  // logical_device
#include <locus/memory/regions.hpp>       // region_pool, memory_resource

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// The memory resources of the program, by device; they stay when the device table is rebuilt.
LOCUS_SHARED_STATE inline constinit memory_resource given_resources[2 * max_logical]{};
inline memory_resource& given_resource(device d) {
  return given_resources[d.is_gpu() ? d.ordinal() : max_logical + d.ordinal()];
}

namespace detail {
/// fails: configuration_error, if the resource of a simulated GPU returns memory of another device
LOCUS_FUNCTION void* obtain_region(void* context, std::size_t bytes);
LOCUS_FUNCTION void give_back_region(void* context, void* p, std::size_t bytes);
}  // namespace detail

/// means: guards the pools of all devices
LOCUS_SHARED_STATE inline constinit mutex pools_lock;

namespace detail {

inline bool has_given_resource(device d) {
  return __atomic_load_n(&given_resource(d).allocate, __ATOMIC_SEQ_CST) != nullptr;
}
[[gnu::cold]] LOCUS_FUNCTION region_pool* open_pool(logical_device& d);

}  // namespace detail

/// means: the pool of a device, made at its first use; null: blocks come from the host's pool
LOCUS_FUNCTION region_pool* pool_of(logical_device& d);
/// means: gives back all regions of a device; its tensors must be gone and its queues empty
LOCUS_FUNCTION void close_memory(logical_device& d) noexcept;

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/pool.hpp>  // bodies of the functions above
#endif
