// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/pool.hpp declares.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/machine/machine_of.hpp>  // machine_of
#include <locus/memory/pool.hpp>         // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION void* obtain_region(void* context, std::size_t bytes) {
  auto& d = *static_cast<logical_device*>(context);
  memory_resource const& given = given_resource(d.name);
  if (!given.allocate) return machine_of(d).obtain(d, bytes);
  void* const p = given.allocate(given.context, bytes);
  if (p && d.is_simulated() && !machine_of(d).is_memory_of(d, p)) {
    given.release(given.context, p, bytes);
    message text;
    throw configuration_error(text << "locus: the memory resource of the simulated " << d.name
                                   << " returned other memory; take it from "
                                      "config::get_memory_resource, which is the device's own");
  }
  return p;
}

LOCUS_FUNCTION void give_back_region(void* context, void* p, std::size_t bytes) {
  auto& d = *static_cast<logical_device*>(context);
  memory_resource const& given = given_resource(d.name);
  if (given.allocate) return given.release(given.context, p, bytes);
  machine_of(d).give_back(d, p, bytes);
}

LOCUS_FUNCTION region_pool* open_pool(logical_device& d) {
  lock_guard hold(pools_lock);
  if (d.is_host() && !has_given_resource(d.name)) return nullptr;  // withdrawn meanwhile
  if (!d.memory.pool)
    __atomic_store_n(&d.memory.pool, new region_pool({obtain_region, give_back_region, &d}),
                     __ATOMIC_RELEASE);
  return d.memory.pool;
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION region_pool* pool_of(logical_device& d) {
  if (region_pool* const p = __atomic_load_n(&d.memory.pool, __ATOMIC_SEQ_CST)) return p;
  if (d.is_host() && !detail::has_given_resource(d.name)) return nullptr;
  return detail::open_pool(d);
}

LOCUS_FUNCTION void close_memory(logical_device& d) noexcept {
  delete __atomic_exchange_n(&d.memory.pool, nullptr, __ATOMIC_SEQ_CST);
  d.memory.communication = nullptr, d.memory.communication_bytes = 0;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
