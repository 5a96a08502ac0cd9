// SPDX-License-Identifier: Apache-2.0
// What the blocks of a logical device come from: a region pool over its card, over a simulated
// card's arena or over a resource of the user's; the host has a pool of its own.
#pragma once
#include <locus/backend/sides.hpp>    // on_side
#include <locus/core/config.hpp>      // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN
#include <locus/device/name.hpp>      // message << device
#include <locus/runtime/regions.hpp>  // region_pool, memory_resource

LOCUS_LEAN_BEGIN

namespace locus::runtime {

/// The memory resources that the program gave, by device; they outlive a rebuilt table.
LOCUS_SHARED_STATE inline constinit memory_resource given_resources[2 * max_logical]{};
inline memory_resource& given_resource(device d) {
  return given_resources[d.is_gpu() ? d.ordinal() : max_logical + d.ordinal()];
}

namespace detail {
/// fails: configuration_error, where a simulated GPU is given memory of another owner
inline void* obtain_region(void* context, std::size_t bytes) {
  auto& d = *static_cast<logical_device*>(context);
  memory_resource const& given = given_resource(d.name);
  if (!given.allocate) return on_side(d.how, [&](auto side) { return side.obtain(d, bytes); });
  void* const p = given.allocate(given.context, bytes);
  if (p && d.how == backing::simulated && !gpus_of_program->is_memory_of(d.name, p)) {
    given.release(given.context, p, bytes);
    message text;
    throw configuration_error(text << "locus: the memory resource of the simulated " << d.name
                                   << " returned other memory; take it from "
                                      "config::get_memory_resource, which is the device's own");
  }
  return p;
}
inline void give_back_region(void* context, void* p, std::size_t bytes) {
  auto& d = *static_cast<logical_device*>(context);
  memory_resource const& given = given_resource(d.name);
  if (given.allocate) return given.release(given.context, p, bytes);
  on_side(d.how, [&](auto side) { side.give_back(d, p, bytes); });
}
LOCUS_SHARED_STATE inline constinit mutex pools_lock;
inline bool has_given_resource(device d) {
  return __atomic_load_n(&given_resource(d).allocate, __ATOMIC_SEQ_CST) != nullptr;
}
[[gnu::cold]] inline region_pool* open_pool(logical_device& d) {
  lock_guard hold(pools_lock);
  if (d.how == backing::host && !has_given_resource(d.name)) return nullptr;  // not any more
  if (!d.memory.pool)
    __atomic_store_n(&d.memory.pool, new region_pool({obtain_region, give_back_region, &d}),
                     __ATOMIC_RELEASE);
  return d.memory.pool;
}
}  // namespace detail

/// means: the pool of a device, made at its first use; null: blocks come from the host's own pool
inline region_pool* pool_of(logical_device& d) {
  if (region_pool* const p = __atomic_load_n(&d.memory.pool, __ATOMIC_SEQ_CST)) return p;
  if (d.how == backing::host && !detail::has_given_resource(d.name)) return nullptr;
  return detail::open_pool(d);
}
/// means: all regions of a device go back; its tensors are gone, and so is what was in flight
inline void close_memory(logical_device& d) noexcept {
  delete __atomic_exchange_n(&d.memory.pool, nullptr, __ATOMIC_SEQ_CST);
  d.memory.communication = nullptr, d.memory.communication_bytes = 0;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
