// SPDX-License-Identifier: Apache-2.0
// Memory of a device, whatever stands behind it: counted, limited, rounded up to 256 bytes.
#pragma once
#include <locus/backend/lack_of_memory.hpp>    // refuse_memory, make_room
#include <locus/backend/pool.hpp>              // pool_of
#include <locus/backend/stamps.hpp>            // meet_arrivals
#include <locus/core/bytes.hpp>                // round_up
#include <locus/core/config.hpp>               // LOCUS_LEAN_BEGIN
#include <locus/runtime/allocation_log.hpp>    // logs_allocations
#include <locus/runtime/copy_cache_limit.hpp>  // drop_kept_copies
#include <locus/runtime/trace.hpp>             // the_tracer

LOCUS_LEAN_BEGIN

namespace locus::runtime {

namespace detail {

/// Bytes that are counted from the beginning, and no longer if nobody says `keep`.
class reservation {
 public:
  reservation(memory_account& m, std::int64_t size) : account_(m), size_(size) {
    std::int64_t now = __atomic_load_n(&m.in_use, __ATOMIC_RELAXED);
    do {
      if (size > m.limit - now) return;
    } while (!__atomic_compare_exchange_n(&m.in_use, &now, now + size, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));  // before it looks for its pool
    after_ = now + size, granted_ = true;
  }
  reservation(reservation const&) = delete;
  ~reservation() {
    if (granted_) __atomic_sub_fetch(&account_.in_use, size_, __ATOMIC_RELAXED);
  }
  bool is_granted() const { return granted_; }
  void keep() {
    granted_ = false;
    raise(account_.peak, after_);
    raise(account_.largest, size_);
    __atomic_add_fetch(&account_.allocations, 1, __ATOMIC_RELAXED);
  }

 private:
  static void raise(std::int64_t& to, std::int64_t value) {
    std::int64_t old = __atomic_load_n(&to, __ATOMIC_RELAXED);
    while (value > old && !__atomic_compare_exchange_n(&to, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {}
  }
  memory_account& account_;
  std::int64_t size_, after_ = 0;
  bool granted_ = false;
};

/// null: the limit, the pool or the card has no room
inline void* try_allocate(logical_device& d, std::int64_t size, std::int64_t requested,
                          bool apart = false) {
  reservation r(d.memory, size);
  if (!r.is_granted()) return nullptr;
  region_policy const policy{d.memory.limit, d.memory.growth};
  region_pool* const pool = pool_of(d);
  void* const p = !pool   ? host_memory.allocate(static_cast<std::size_t>(size))
                  : apart ? pool->allocate_apart(size, requested, policy)
                          : pool->allocate(size, requested, policy);
  if (p) r.keep();
  return p;
}
/// a planted fault: this allocation finds no memory
inline bool lacks_memory() {
  return planted.lack_memory >= 0 &&
         __atomic_fetch_sub(&planted.lack_memory, 1, __ATOMIC_RELAXED) == 0;
}
[[gnu::cold]] inline void* allocate_again(logical_device& d, std::int64_t size,
                                          std::int64_t requested, memory_purpose const& purpose,
                                          bool planned_lack) {
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

}  // namespace detail

/// means: the memory of a device changed, for the trace     cost: one test
inline void trace_memory(logical_device const& d) noexcept {
  if (!is_watched(watcher::trace)) return;
  try {
    the_tracer().memory(d.name, __atomic_load_n(&d.memory.in_use, __ATOMIC_RELAXED));
  } catch (...) {}
}

/// means: memory on a device, in the order of its compute queue; the bytes are rounded up to 256,
///        for none null is returned
/// cost:  two locks and a few list operations where a freed block fits; otherwise a region from the
///        driver
/// fails: out_of_memory naming device, purpose, requested, in use, limit, step, after waiting for
///        the device, giving back what is only kept, and one more attempt; nothing has changed then
inline void* allocate(logical_device& d, std::int64_t bytes, memory_purpose const& purpose) {
  if (bytes <= 0) return nullptr;
  std::int64_t const size = bytes < INT64_MAX / 2 ? round_up(bytes) : INT64_MAX / 512 * 256;
  bool const planned_lack = detail::lacks_memory();
  void* p = planned_lack ? nullptr : detail::try_allocate(d, size, bytes);
  if (!p) p = detail::allocate_again(d, size, bytes, purpose, planned_lack);
  trace_memory(d);
  if (logs_allocations()) log_memory(d, "allocates", size, purpose);
  return p;
}

/// means: memory may be used again by what its device's compute queue is given from now on
inline void release(logical_device& d, void* p, std::int64_t bytes,
                    memory_purpose const& purpose = "") noexcept {
  if (!p) return;
  std::int64_t size = round_up(bytes);
  try {
    meet_arrivals(d, p, size);
    on_side(d.how, [&](auto side) { side.retire(d, p, static_cast<std::size_t>(size)); });
  } catch (std::exception const& e) {  // a destructor may be under way
    log_line line;
    write_line(line << e.what());
  }
  if (region_pool* const pool = pool_of(d))
    size = pool->release(p);  // none, when the table was made anew since
  else
    host_memory.release(p, static_cast<std::size_t>(size));
  __atomic_sub_fetch(&d.memory.in_use, size, __ATOMIC_RELAXED);
  trace_memory(d);
  if (logs_allocations()) log_memory(d, "frees", size, purpose);
}

}  // namespace locus::runtime

LOCUS_LEAN_END
