// SPDX-License-Identifier: Apache-2.0
// The memory of a Tensor: its pieces, a count of owners, and a count of watchers in expressions.
#pragma once
#include <cstdint>  // uint64_t
#include <cstdlib>  // malloc
#include <utility>  // exchange

#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/core/shared.hpp>    // count_up, count_down
#include <locus/device/device.hpp>  // place
#include <locus/expr/builder.hpp>   // local_value
#include <locus/shape/element.hpp>  // element
#include <locus/shape/shape.hpp>    // shape

namespace locus {

/// The memory of one replica.
struct piece {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::int64_t extents[max_rank]{}, strides[max_rank]{};  // units: elements
};

/// The header of a tensor's memory. While a leaf watches it, the header outlives the elements, so
/// that a checked build can tell a destroyed tensor from a live one.
struct tensor_block {
  int owners = 1, watchers = 1;                       // all owners together count as one watcher
  void (*release)(tensor_block&) noexcept = nullptr;  // gives the elements' memory back
  void const* tensor = nullptr;                       // the Tensor object that holds this block
  place where{};
  shape extents{};
  element type = element::other;
  int element_bytes = 0;
  mutable int kept = 0;     // devices keep copies of the elements: see memory/kept_copies.hpp
  mutable int exposed = 0;  // the program has a pointer through which it may write
  // valid rows in the margins: before a piece + 256 * behind + 65536 * runtime::queue_failures()
  mutable std::uint64_t margins = 0;
  std::int64_t before = 0, behind = 0;  // units: bytes of margin in front of, behind each piece
  piece pieces[1];                      // where.local_count() of them

  /// room: extra bytes after the pieces, for the function that made the memory
  static tensor_block* make(place const& where, std::size_t room = 0);
  local_value local(int replica) const;
};

/// means: the rows in the margins of a tensor are old: its elements are about to change
inline void forget_margins(tensor_block const& b) noexcept {
  if (b.before != 0) __atomic_store_n(&b.margins, std::uint64_t(0), __ATOMIC_RELEASE);
}

namespace detail {
inline void stop_watching(tensor_block* b) noexcept {
  if (count_down(b->watchers) == 0) std::free(b);
}
}  // namespace detail

/// means: one owner of a block     cost: a counter
class block_owner {
 public:
  block_owner() = default;
  explicit block_owner(tensor_block* fresh) : block_(fresh) {}
  block_owner(block_owner const& o) noexcept : block_(o.block_) {
    if (block_) count_up(block_->owners);
  }
  block_owner(block_owner&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  block_owner& operator=(block_owner o) noexcept;
  ~block_owner();
  tensor_block* get() const { return block_; }
  tensor_block* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  tensor_block* block_ = nullptr;
};

/// means: keeps the header of a block alive, not its elements
class block_watcher {
 public:
  explicit block_watcher(tensor_block* b) : block_(b) {
    if (block_) count_up(block_->watchers);
  }
  block_watcher(block_watcher const& o) noexcept : block_watcher(o.block_) {}
  block_watcher(block_watcher&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  block_watcher& operator=(block_watcher o) noexcept;
  ~block_watcher() {
    if (block_) detail::stop_watching(block_);
  }
  bool elements_live() const {
    return block_ && __atomic_load_n(&block_->owners, __ATOMIC_ACQUIRE) > 0;
  }
  tensor_block* get() const { return block_; }

 private:
  tensor_block* block_ = nullptr;
};

}  // namespace locus

#if LOCUS_HAS_BODIES
#include <locus/expr/bodies/block.hpp>  // bodies of the functions above
#endif
