// SPDX-License-Identifier: Apache-2.0
// The allocator of every device: best fit with coalescing, in regions that a source supplies (a
// driver, a simulated card, a pool of the user's).
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // int64_t

#include <locus/core/lock.hpp>           // mutex
#include <locus/core/macros.hpp>         // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/memory/region_bins.hpp>  // free_bins, block_index

LOCUS_LEAN_BEGIN

namespace locus {

/// Where memory comes from: two functions and what they need. `allocate` returns memory that is
/// aligned to 256 bytes, or null where there is no more; neither is called for each tensor, but for
/// regions of some MiB.
struct memory_resource {
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;
  void (*release)(void* context, void* p, std::size_t bytes) = nullptr;
  void* context = nullptr;
};

namespace runtime {

/// What a source may be asked for.
struct region_policy {
  std::int64_t limit = INT64_MAX;  // bytes of all regions together
  bool growth = true;              // false: the first region is the whole limit
};

/// means: blocks of a multiple of 256 bytes; a freed block joins its free neighbours in its region
/// cost:  a lock, a list and a hash: under 0.1 us, no call of the source where a free block fits
/// after: tsl/framework/bfc_allocator.cc: regions of 2 MiB, then doubling, 0.9 of what was refused
class region_pool {
 public:
  explicit region_pool(memory_resource const& source) : source_(source) {}
  region_pool(region_pool const&) = delete;
  /// regions go back, used or not
  ~region_pool();

  /// means: `bytes` bytes, a positive multiple of 256; null: no free block fits, and no region can
  ///        be had
  /// fails: with what the source throws; nothing has changed then
  void* allocate(std::int64_t bytes, std::int64_t requested, region_policy const& policy);
  /// means: the same in a region of its own, of exactly that size, where the limit has room for one
  void* allocate_apart(std::int64_t bytes, std::int64_t requested, region_policy const& policy);
  /// means: the bytes of the block that is free now; 0: no block begins there
  std::int64_t release(void* p) noexcept;
  /// means: gives back the regions in which nothing is used; nobody may still work on their memory
  /// units: bytes given back
  std::int64_t trim() noexcept;

  /// What there is. units: bytes
  struct facts {
    std::int64_t reserved = 0;      // in regions
    std::int64_t in_use = 0;        // in blocks that are used
    std::int64_t requested = 0;     // what was asked for in them
    std::int64_t largest_free = 0;  // block
    int regions = 0, blocks = 0;    // blocks: used ones
  };
  facts look();
  std::int64_t reserved() const { return __atomic_load_n(&reserved_, __ATOMIC_RELAXED); }

 private:
  static constexpr std::int64_t first_region = std::int64_t(2) << 20;
  struct slab {
    region_block records[64];
    slab* next = nullptr;
  };

  // ---- records ----
  bool make_records();
  region_block& take_record();
  void recycle(region_block& r) { r.next = unused_, unused_ = &r; }

  // ---- blocks ----
  void* use(region_block& b, std::int64_t bytes, std::int64_t requested);
  /// a free neighbour becomes a part of b
  void join(region_block& b, region_block& after);
  void link(region_block& b, region_block& after);

  // ---- regions ----
  /// one more region in which `bytes` fit
  bool extend(std::int64_t bytes, region_policy const& policy);
  /// its one free block; null: the source refused
  region_block* add_region(std::int64_t bytes);
  void give_back(region** at) noexcept;
  void set_reserved(std::int64_t bytes) { __atomic_store_n(&reserved_, bytes, __ATOMIC_RELAXED); }

  memory_resource const source_;
  mutex lock_;
  std::int64_t next_region_ = first_region;
  std::int64_t reserved_ = 0, in_use_ = 0, requested_ = 0;
  region* regions_ = nullptr;
  free_bins bins_;
  block_index index_;
  slab* slabs_ = nullptr;
  region_block* unused_ = nullptr;
};

}  // namespace runtime
}  // namespace locus

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/memory/bodies/regions.hpp>  // bodies of the functions above
#endif
