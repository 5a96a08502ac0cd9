// SPDX-License-Identifier: Apache-2.0
// Memory of the user's for the tensors of a device: an HPC code's own pool (Umpire, RMM).
#pragma once
#include <locus/backend/devices.hpp>  // devices
#include <locus/backend/pool.hpp>     // given_resource, close_memory
#include <locus/core/array.hpp>       // dynamic_array
#include <locus/core/config.hpp>      // LOCUS_COLD_BEGIN
#include <locus/device/name.hpp>      // device_named
#include <locus/device/policy.hpp>    // single_device

LOCUS_COLD_BEGIN

namespace locus::config {

namespace detail {
/// Pools whose memory went back: who asked for statistics may still look at one. They are small.
LOCUS_SHARED_STATE inline void keep_empty_pool(runtime::region_pool* pool) {
  static auto* const all = new dynamic_array<runtime::region_pool*>;
  all->push(pool);
}
[[noreturn, gnu::cold]] inline void refuse_resource(device name, std::int64_t in_use) {
  message text;
  throw configuration_error(text << "locus: " << in_use << " bytes of " << name
                                 << " are in use; give its memory resource before the first "
                                    "tensor, or when all are gone");
}
/// An allocation counts its bytes and looks for its pool then; here the pool goes and the bytes are
/// looked at then. So one of two threads sees the other, and the program keeps what it had.
/// fails: configuration_error, while memory of the device is in use; unknown_device, where another GPU
///        works for it with its own memory
inline void give_resource(device name, memory_resource const& resource) {
  runtime::device_table const& t = runtime::table;
  if (t.built && name.is_gpu() && t.gpus > 0 && name.ordinal() >= t.gpus) {
    message text;
    throw unknown_device(text << "locus: " << name << " is not there and has no memory of its own; "
                              << "give the memory resource to "
                              << runtime::detail::stand_in_of(runtime::table, name).name);
  }
  if (!resource.allocate != !resource.release)
    throw configuration_error(
        "locus: a memory resource has one of allocate and release; give both, or none");
  runtime::logical_device& d = runtime::table.slot(name);
  auto const in_use = [&] { return __atomic_load_n(&d.memory.in_use, __ATOMIC_SEQ_CST); };
  lock_guard hold(runtime::detail::pools_lock);
  runtime::region_pool* const pool = __atomic_exchange_n(&d.memory.pool, nullptr, __ATOMIC_SEQ_CST);
  if (std::int64_t const bytes = in_use()) {
    __atomic_store_n(&d.memory.pool, pool, __ATOMIC_SEQ_CST);
    refuse_resource(name, bytes);
  }
  if (pool) {
    keep_empty_pool(pool);
    on_side(d.how, [&](auto side) { side.finish(d); });  // nothing is in flight
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
inline memory_resource own_resource(device name) {
  return {[](void* context, std::size_t bytes) {
            auto& d = *static_cast<runtime::logical_device*>(context);
            return on_side(d.how, [&](auto side) { return side.obtain(d, bytes); });
          },
          [](void* context, void* p, std::size_t bytes) {
            auto& d = *static_cast<runtime::logical_device*>(context);
            on_side(d.how, [&](auto side) { side.give_back(d, p, bytes); });
          },
          &runtime::table.slot(name)};
}
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
