// SPDX-License-Identifier: Apache-2.0
// Copies of tensors that devices keep for later plans. A copy is dropped when its tensor is written
// or destroyed, when newer copies need the room, or when memory runs out. In TensorFlow: the
// mirrors of a tensor handle.
#pragma once

#include <locus/core/array.hpp>                // dynamic_array
#include <locus/core/checksum.hpp>             // checksum_of
#include <locus/core/lock.hpp>                 // lock_guard
#include <locus/core/macros.hpp>               // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/expr/block.hpp>                // tensor_block
#include <locus/machine/launch_site.hpp>       // logical_device
#include <locus/memory/kept_copies_limit.hpp>  // copy_cache_limit
#include <locus/watch/watch.hpp>               // set_watcher

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The identity of a copy: which elements of which tensor, from which device, on which device.
struct copy_key {
  tensor_block const* of = nullptr;
  element type = element::other;
  int rank = 0;
  local_value source{};
  void const* first = nullptr;  // the lowest address of the source
  std::int64_t bytes = 0;
  logical_device *from = nullptr, *on = nullptr;
};

/// One kept copy. Plans find it once it is ready; a dead copy is freed when its last user leaves.
struct kept_copy {
  copy_key key;
  std::int64_t extents[max_rank]{}, strides[max_rank]{};
  void* data = nullptr;
  int users = 1;
  bool ready = false, dead = false;
  std::uint64_t failures = 0;  // runtime::queue_failures() when it was made: it serves while equal
  std::uint64_t last_use = 0;
  bool summed = false;    // checked builds only, for a source in host memory
  std::uint64_t sum = 0;  // checksum of the source

  bool is(copy_key const& k) const;
};

/// means: the kept copies of unchanged tensors, with a limit of bytes for each device
/// cost:  while it is on, a lock and a search of a list for each copy of a plan
class copy_cache {
 public:
  /// null: no such copy     fails: bad_access in checked builds, if the source has changed since
  kept_copy* find(copy_key const& k, bool checked);
  /// means: memory for a new kept copy; null: no room for it
  kept_copy* make(copy_key const& k, bool checked);
  /// means: a run no longer uses a copy; arrived: later plans may find it
  void leave(kept_copy* c, bool arrived) noexcept;
  /// means: drops the copies of a tensor that is about to be written, or is destroyed
  void forget(tensor_block const& b) noexcept;
  /// means: drops the copies of bytes that are about to be written
  void forget(void const* first, std::int64_t bytes) noexcept;
  /// means: frees the copies on a device that no run uses; false: there were none
  bool drop(logical_device& d) noexcept;
  void drop_all() noexcept;
  /// units: bytes
  std::int64_t bytes_kept(logical_device const& d);

 private:
  std::int64_t bytes_on(logical_device const& d) const;
  template <class Which>
  void drop_if(Which const& which) noexcept {
    for (std::size_t i = copies_.size(); i-- > 0;) {
      kept_copy* const c = copies_[i];
      if (!which(*c)) continue;
      c->dead = true;
      if (c->users == 0) end(c);
    }
  }
  bool drop_oldest(logical_device const& d) noexcept;
  void end(kept_copy* c) noexcept;
  static std::uint64_t sum_of(copy_key const& k) {
    return locus::internal::checksum_of(k.first, static_cast<std::size_t>(k.bytes));
  }
  [[noreturn, gnu::cold]] static void refuse(kept_copy const& c);

  mutex lock_;
  dynamic_array<kept_copy*> copies_;
  std::uint64_t clock_ = 0;
};

/// One cache for each process. It is never destroyed: tensors may outlive static objects.
LOCUS_SHARED_STATE inline copy_cache& kept_copies() {
  static copy_cache* const cache = new copy_cache;
  return *cache;
}
/// means: drops the kept copies, and the rows in margins, of a tensor whose elements are about to
///        change outside a plan.
///        Tensors that share memory after relabel have none     cost: one test
LOCUS_FUNCTION void forget_copies(tensor_block const& b) noexcept;
/// means: sets the bytes of copies that each device keeps, and drops all kept copies; 0: off
/// cost:  threads that call it take turns
LOCUS_SHARED_STATE [[gnu::cold]] inline void keep_copies(std::int64_t bytes) {
  static constexpr copy_cache_functions functions{
      [](logical_device& d) { return kept_copies().drop(d); },
      [](tensor_block const& b) { kept_copies().forget(b); },
      [](void const* first, std::int64_t n) { kept_copies().forget(first, n); }};
  static constinit mutex one_at_a_time;
  lock_guard hold(one_at_a_time);
  __atomic_store_n(&kept_copy_functions, &functions, __ATOMIC_RELEASE);
  __atomic_store_n(&copy_cache_limit, std::int64_t(0), __ATOMIC_RELEASE);
  // The watcher `kept` sends every write through the cache. It is on before the first copy is kept,
  // and until the last one is dropped.
  set_watcher(watcher::kept, true);
  kept_copies().drop_all();
  set_watcher(watcher::kept, bytes > 0);
  __atomic_store_n(&copy_cache_limit, bytes, __ATOMIC_RELEASE);
}

}  // namespace locus::runtime

namespace locus::config {

/// means: each device keeps copies that plans brought there, up to `bytes` bytes; later plans use
///        them until the tensor changes. Plans still count such copies; the log calls them reused.
///        No copy is kept of a tensor that gave out a pointer for writing. 0: off
/// cost:  small plans of a CPU no longer take their shortest way
/// fails: configuration_error for a negative number
/// after: the mirrors of TensorFlow's eager tensors
LOCUS_FUNCTION void set_copy_cache(std::int64_t bytes);
inline std::int64_t get_copy_cache() {
  return __atomic_load_n(&runtime::copy_cache_limit, __ATOMIC_RELAXED);
}

}  // namespace locus::config

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/kept_copies.hpp>  // bodies of the functions above
#endif
