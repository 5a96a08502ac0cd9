// SPDX-License-Identifier: Apache-2.0
// Copies of tensors that devices keep for later plans: until the tensor is written or dies, until
// others need the place, or memory runs out. TensorFlow calls them the mirrors of a handle.
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

/// What is copied: elements of a tensor in some order without gaps.
struct copy_key {
  tensor_block const* of = nullptr;
  element type = element::other;
  int rank = 0;
  local_value source{};
  void const* first = nullptr;  // the lowest address
  std::int64_t bytes = 0;
  logical_device *from = nullptr, *on = nullptr;
};

/// One kept copy. It is under way until it is ready; it ends when nobody uses it.
struct kept_copy {
  copy_key key;
  std::int64_t extents[max_rank]{}, strides[max_rank]{};
  void* data = nullptr;
  int users = 1;
  bool ready = false, dead = false;
  std::uint64_t last_use = 0;
  bool summed = false;    // in checked builds, where the source is host memory
  std::uint64_t sum = 0;  // of the source

  bool is(copy_key const& k) const;
};

/// means: the copies of unchanged tensors that devices keep, up to a bound for each device
/// cost:  a lock and a list for each copy of a plan, while they are on
class copy_cache {
 public:
  /// null: there is none     fails: bad_access in checked builds, for one that is out of date
  kept_copy* find(copy_key const& k, bool checked);
  /// means: memory for a copy that shall be kept; null: there is no place for it
  kept_copy* make(copy_key const& k, bool checked);
  /// means: a run has finished with a copy; arrived: it may be found from now on
  void leave(kept_copy* c, bool arrived) noexcept;
  /// means: the tensor is about to be written, or dies
  void forget(tensor_block const& b) noexcept;
  /// means: those bytes are about to be written
  void forget(void const* first, std::int64_t bytes) noexcept;
  /// means: what a device keeps and nobody uses goes; false: there was nothing
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
    return locus::detail::checksum_of(k.first, static_cast<std::size_t>(k.bytes));
  }
  [[noreturn, gnu::cold]] static void refuse(kept_copy const& c);

  mutex lock_;
  dynamic_array<kept_copy*> copies_;
  std::uint64_t clock_ = 0;
};

/// One for each process. Never destroyed: tensors may outlive every static object.
LOCUS_SHARED_STATE inline copy_cache& kept_copies() {
  static copy_cache* const cache = new copy_cache;
  return *cache;
}
/// means: the elements of a tensor are about to change, in place and by no plan; what another block
///        sees of the same memory is not known here: see relabel     cost: one test
LOCUS_FUNCTION void forget_copies(tensor_block const& b) noexcept;
/// means: copies are kept, up to so many bytes on each device; 0: none, and none is left
/// cost:  threads that set it take turns
LOCUS_SHARED_STATE [[gnu::cold]] inline void keep_copies(std::int64_t bytes) {
  static constexpr copy_cache_functions functions{
      [](logical_device& d) { return kept_copies().drop(d); },
      [](tensor_block const& b) { kept_copies().forget(b); },
      [](void const* first, std::int64_t n) { kept_copies().forget(first, n); }};
  static constinit mutex one_at_a_time;
  lock_guard hold(one_at_a_time);
  __atomic_store_n(&kept_copy_functions, &functions, __ATOMIC_RELEASE);
  __atomic_store_n(&copy_cache_limit, std::int64_t(0), __ATOMIC_RELEASE);
  // While it is watched nothing is written unseen: before anything can be kept, and until all of it
  // is gone.
  set_watcher(watcher::kept, true);
  kept_copies().drop_all();
  set_watcher(watcher::kept, bytes > 0);
  __atomic_store_n(&copy_cache_limit, bytes, __ATOMIC_RELEASE);
}

}  // namespace locus::runtime

namespace locus::config {

/// means: a device keeps copies of tensors that plans brought there, up to so many bytes, and later
///        plans use them until the tensor changes. Plans count such copies still; the log says that
///        they were reused. A tensor whose data() was handed out for writing is not kept. 0: off
/// cost:  the small plans of a CPU no longer take their shortest way
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
