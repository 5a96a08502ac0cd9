// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that config/memory_resource.hpp declares.
#pragma once
#include <locus/backend/devices.hpp>         // stand_in_of
#include <locus/config/memory_resource.hpp>  // the declarations
#include <locus/core/macros.hpp>             // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/machine_of.hpp>      // machine_of
#include <locus/memory/pool.hpp>             // given_resource, close_memory

LOCUS_COLD_BEGIN

namespace locus::config::detail {

LOCUS_FUNCTION void refuse_resource(device name, std::int64_t in_use) {
  message text;
  throw configuration_error(text << "locus: " << in_use << " bytes of " << name
                                 << " are in use; give its memory resource before the first "
                                    "tensor, or when all are gone");
}

LOCUS_FUNCTION void give_resource(device name, memory_resource const& resource) {
  runtime::device_table const& t = runtime::table;
  if (t.built && name.is_gpu() && t.gpus > 0 && name.ordinal() >= t.gpus) {
    message text;
    throw unknown_device(text << "locus: " << name << " is not there and has no memory of its own; "
                              << "give the memory resource to "
                              << runtime::stand_in_of(runtime::table, name).name);
  }
  if (!resource.allocate != !resource.release)
    throw configuration_error(
        "locus: a memory resource has one of allocate and release; give both, or none");
  runtime::logical_device& d = runtime::table.slot(name);
  auto const in_use = [&] { return __atomic_load_n(&d.memory.in_use, __ATOMIC_SEQ_CST); };
  lock_guard hold(runtime::pools_lock);
  runtime::region_pool* const pool = __atomic_exchange_n(&d.memory.pool, nullptr, __ATOMIC_SEQ_CST);
  if (std::int64_t const bytes = in_use()) {
    __atomic_store_n(&d.memory.pool, pool, __ATOMIC_SEQ_CST);
    refuse_resource(name, bytes);
  }
  if (pool) {
    keep_empty_pool(pool);
    machine_of(d).finish(d);  // waits until no kernel uses the pool
    pool->trim();
  }
  runtime::close_memory(d);
  memory_resource& given = runtime::given_resource(name);
  memory_resource const before = given;
  auto const give = [&](memory_resource const& r) {
    given.release = r.release, given.context = r.context;
    __atomic_store_n(&given.allocate, r.allocate, __ATOMIC_SEQ_CST);
  };
  give(resource);
  if (std::int64_t const bytes = in_use()) {
    give(before);
    refuse_resource(name, bytes);
  }
}

LOCUS_FUNCTION memory_resource own_resource(device name) {
  return {[](void* context, std::size_t bytes) {
            auto& d = *static_cast<runtime::logical_device*>(context);
            return machine_of(d).obtain(d, bytes);
          },
          [](void* context, void* p, std::size_t bytes) {
            auto& d = *static_cast<runtime::logical_device*>(context);
            machine_of(d).give_back(d, p, bytes);
          },
          &runtime::table.slot(name)};
}

}  // namespace locus::config::detail

LOCUS_COLD_END
