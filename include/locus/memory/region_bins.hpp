// SPDX-License-Identifier: Apache-2.0
// The records of a region pool, kept outside the memory that they describe: all blocks in order of
// address, free blocks by size, used blocks by address.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION

LOCUS_LEAN_BEGIN

namespace locus::runtime {

struct region;

/// A block of a region. A region links its blocks in order of address; two free blocks are never
/// neighbours.
struct region_block {
  char* base = nullptr;
  std::int64_t bytes = 0;
  std::int64_t requested = 0;                         // 0: free
  region_block *before = nullptr, *after = nullptr;   // the blocks beside it
  region_block *previous = nullptr, *next = nullptr;  // in its bin; or of unused ones
  region* of = nullptr;
};

/// One piece of memory from a source.
struct region {
  char* base = nullptr;
  std::int64_t bytes = 0;
  region_block* first = nullptr;
  region* next = nullptr;
};

/// means: free blocks by size: sixteen bins for each power of two; below 8 KiB, one bin for each
///        size
/// cost:  insert and remove: one list operation
class free_bins {
 public:
  void insert(region_block& b);
  void remove(region_block& b);
  /// means: a free block of at least `bytes` bytes: the smallest among the first 32 blocks of a bin
  /// cost:  two bins, at most 32 blocks of each; the whole bin of that size if no larger block is
  ///        free
  region_block* find(std::int64_t bytes) const;
  std::int64_t largest() const;

 private:
  static constexpr int fine = 16, bins = 54 * fine;
  static int bin_of(std::int64_t bytes);
  int next_occupied(int from) const;
  region_block* smallest(int bin, std::int64_t bytes, int look) const;
  region_block* heads_[bins]{};
  std::uint64_t occupied_[(bins + 63) / 64]{};
};

/// means: used blocks by address: a hash table with open addressing, at most half full
class block_index {
 public:
  block_index() = default;
  block_index(block_index const&) = delete;
  ~block_index() { delete[] cells_; }

  /// makes room for one more block     false: the host has no memory for it
  bool make_room();
  void insert(region_block* b) { place(b), ++size_; }
  /// removes and returns the block that begins at p; null: there is none
  region_block* remove(void const* p);
  std::size_t size() const { return size_; }

 private:
  std::size_t home(void const* p) const;
  std::size_t next(std::size_t i) const { return (i + 1) & (capacity_ - 1); }
  void place(region_block* b);
  region_block** cells_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace locus::runtime

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/region_bins.hpp>  // bodies of the functions above
#endif
