// SPDX-License-Identifier: Apache-2.0
// The records of a region allocator, outside the memory that they describe: blocks in the order of
// their addresses, free ones by size, used ones by address.
#pragma once
#include <cstdint>  // int64_t
#include <new>      // nothrow

#include <locus/core/bytes.hpp>   // allocation_unit
#include <locus/core/config.hpp>  // LOCUS_LEAN_BEGIN

LOCUS_LEAN_BEGIN

namespace locus::runtime {

struct region;

/// A block of a region. The blocks of a region are linked in the order of their addresses; two free
/// ones are never neighbours.
struct region_block {
  char* base = nullptr;
  std::int64_t bytes = 0;
  std::int64_t requested = 0;                         // 0: free
  region_block *before = nullptr, *after = nullptr;   // its neighbours
  region_block *previous = nullptr, *next = nullptr;  // in its bin; next: among unused records
  region* of = nullptr;
};

/// One piece of memory from a source.
struct region {
  char* base = nullptr;
  std::int64_t bytes = 0;
  region_block* first = nullptr;
  region* next = nullptr;
};

/// means: free blocks by size: sixteen bins for each power of two; below 8 KiB one for each size
/// cost:  putting in and taking out: a list operation
class free_bins {
 public:
  void insert(region_block& b) {
    int const i = bin_of(b.bytes);
    b.previous = nullptr, b.next = heads_[i];
    if (b.next) b.next->previous = &b;
    heads_[i] = &b;
    occupied_[i / 64] |= std::uint64_t(1) << i % 64;
  }
  void remove(region_block& b) {
    int const i = bin_of(b.bytes);
    (b.previous ? b.previous->next : heads_[i]) = b.next;
    if (b.next) b.next->previous = b.previous;
    if (!heads_[i]) occupied_[i / 64] &= ~(std::uint64_t(1) << i % 64);
  }
  /// means: a free block of at least so many bytes, the smallest of a bin as far as we look
  /// cost:  two short lists; the whole bin only where nothing else fits
  region_block* find(std::int64_t bytes) const {
    constexpr int few = 32;
    int const own = bin_of(bytes);  // its blocks may be a little smaller than asked for
    if (region_block* const b = smallest(own, bytes, few)) return b;
    if (int const larger = next_occupied(own + 1); larger < bins)
      return smallest(larger, bytes, few);
    return smallest(own, bytes, INT32_MAX);
  }
  std::int64_t largest() const {
    std::int64_t most = 0;
    for (int i = bins; i-- > 0 && most == 0;)
      for (region_block const* b = heads_[i]; b; b = b->next)
        most = b->bytes > most ? b->bytes : most;
    return most;
  }

 private:
  static constexpr int fine = 16, bins = 54 * fine;
  static int bin_of(std::int64_t bytes) {
    auto const units = static_cast<std::uint64_t>(bytes / allocation_unit);
    if (units < fine) return static_cast<int>(units);
    int const e = 63 - __builtin_clzll(units) - 4;
    return fine * e + static_cast<int>(units >> e);
  }
  int next_occupied(int from) const {
    for (int word = from / 64; word < (bins + 63) / 64; ++word) {
      std::uint64_t const here =
          word == from / 64 ? occupied_[word] & ~std::uint64_t(0) << from % 64 : occupied_[word];
      if (here) return 64 * word + __builtin_ctzll(here);
    }
    return bins;
  }
  region_block* smallest(int bin, std::int64_t bytes, int look) const {
    region_block* best = nullptr;
    for (region_block* b = heads_[bin]; b && look-- > 0; b = b->next) {
      if (b->bytes == bytes) return b;
      if (b->bytes > bytes && (!best || b->bytes < best->bytes)) best = b;
    }
    return best;
  }
  region_block* heads_[bins]{};
  std::uint64_t occupied_[(bins + 63) / 64]{};
};

/// means: used blocks by address: open addressing, at most half full
class block_index {
 public:
  block_index() = default;
  block_index(block_index const&) = delete;
  ~block_index() { delete[] cells_; }

  /// room for one more     false: the host has no memory for it
  bool make_room() {
    if (2 * (size_ + 1) <= capacity_) return true;
    std::size_t const n = capacity_ ? 2 * capacity_ : 256;
    auto* const cells = new (std::nothrow) region_block* [n] {};
    if (!cells) return false;
    region_block** const old = cells_;
    std::size_t const count = capacity_;
    cells_ = cells, capacity_ = n;
    for (std::size_t i = 0; i < count; ++i)
      if (old[i]) place(old[i]);
    delete[] old;
    return true;
  }
  void insert(region_block* b) { place(b), ++size_; }
  /// the block that begins there, no longer kept; null: none does
  region_block* remove(void const* p) {
    if (!capacity_) return nullptr;
    std::size_t i = home(p);
    while (cells_[i] && cells_[i]->base != p) i = next(i);
    region_block* const found = cells_[i];
    if (!found) return nullptr;
    --size_;
    for (std::size_t k = next(i); cells_[k];
         k = next(k)) {  // what would no longer be found moves up
      std::size_t const at = home(cells_[k]->base);
      if (((k - at) & (capacity_ - 1)) < ((k - i) & (capacity_ - 1))) continue;
      cells_[i] = cells_[k], i = k;
    }
    cells_[i] = nullptr;
    return found;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t home(void const* p) const {
    return static_cast<std::size_t>(
        (reinterpret_cast<std::uintptr_t>(p) >> 8) * 0x9E3779B97F4A7C15u >> 20 & (capacity_ - 1));
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (capacity_ - 1); }
  void place(region_block* b) {
    std::size_t i = home(b->base);
    while (cells_[i]) i = next(i);
    cells_[i] = b;
  }
  region_block** cells_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace locus::runtime

LOCUS_LEAN_END
