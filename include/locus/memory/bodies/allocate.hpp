// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/allocate.hpp declares.
#pragma once
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/memory/allocate.hpp>           // the declarations
#include <locus/memory/kept_copies_limit.hpp>  // copy_cache_functions, copy_cache_in_use
#include <locus/memory/out_of_memory.hpp>      // refuse_memory, make_room

LOCUS_LEAN_BEGIN

namespace locus::runtime::detail {

LOCUS_FUNCTION reservation::reservation(memory_account& m, std::int64_t size)
    : account_(m), size_(size) {
  std::int64_t now = __atomic_load_n(&m.in_use, __ATOMIC_RELAXED);
  do {
    if (size > m.limit - now) return;
  } while (!__atomic_compare_exchange_n(&m.in_use, &now, now + size, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));  // before it reads the pool
  after_ = now + size, granted_ = true;
}

LOCUS_FUNCTION void reservation::keep() {
  granted_ = false;
  raise(account_.peak, after_);
  raise(account_.largest, size_);
  __atomic_add_fetch(&account_.allocations, 1, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION void reservation::raise(std::int64_t& to, std::int64_t value) {
  std::int64_t old = __atomic_load_n(&to, __ATOMIC_RELAXED);
  while (value > old &&
         !__atomic_compare_exchange_n(&to, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void* try_allocate(logical_device& d, std::int64_t size, std::int64_t requested,
                                  bool apart) {
  detail::reservation r(d.memory, size);
  if (!r.is_granted()) return nullptr;
  region_policy const policy{d.memory.limit, d.memory.growth};
  region_pool* const pool = pool_of(d);
  void* const p = !pool   ? host_memory.allocate(static_cast<std::size_t>(size))
                  : apart ? pool->allocate_apart(size, requested, policy)
                          : pool->allocate(size, requested, policy);
  if (p) r.keep();
  return p;
}

}  // namespace locus::runtime

namespace locus::runtime::detail {

LOCUS_FUNCTION bool lacks_memory() {
  return planted.lack_memory >= 0 &&
         __atomic_fetch_sub(&planted.lack_memory, 1, __ATOMIC_RELAXED) == 0;
}

LOCUS_FUNCTION void* allocate_again(logical_device& d, std::int64_t size, std::int64_t requested,
                                    memory_purpose const& purpose, bool planned_lack) {
  if (!planned_lack && size <= d.memory.limit) {
    make_room(d, size);
    if (void* const p = try_allocate(d, size, requested)) return p;
    if (copy_cache_functions const* const cache = copy_cache_in_use(); cache && cache->drop(d)) {
      make_room(d);
      if (void* const p = try_allocate(d, size, requested)) return p;
    }
  }
  refuse_memory(d, size, purpose);
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void* allocate(logical_device& d, std::int64_t bytes,
                              memory_purpose const& purpose) {
  if (bytes <= 0) return nullptr;
  std::int64_t const size = bytes < INT64_MAX / 2 ? round_up(bytes) : INT64_MAX / 512 * 256;
  bool const planned_lack = detail::lacks_memory();
  void* p = planned_lack ? nullptr : try_allocate(d, size, bytes);
  if (!p) p = detail::allocate_again(d, size, bytes, purpose, planned_lack);
  note_memory(d, "allocates", size, purpose);
  return p;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
