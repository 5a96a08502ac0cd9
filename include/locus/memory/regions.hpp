// SPDX-License-Identifier: Apache-2.0
// The allocator of GPUs, of pinned memory, and of a host with a memory resource: best fit with
// coalescing, in regions from a source (a driver, a simulated card, a resource of the program).
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // int64_t

#include <locus/core/lock.hpp>           // mutex
#include <locus/core/macros.hpp>         // LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/memory/region_bins.hpp>  // free_bins, block_index

LOCUS_LEAN_BEGIN

namespace locus {

/// A source of memory: two functions and their context. `allocate` returns memory aligned to 256
/// bytes, or null if there is no more. Both are called for regions of some MiB, not for each
/// tensor.
struct memory_resource {
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;
  void (*release)(void* context, void* p, std::size_t bytes) = nullptr;
  void* context = nullptr;
};

namespace runtime {

/// The limits of a pool.
struct region_policy {
  std::int64_t limit = INT64_MAX;  // bytes of all regions together
  bool growth = true;              // false: the first region has all bytes of the limit
};

/// means: blocks of multiples of 256 bytes; a freed block joins its free neighbours in its region
/// cost:  a lock, a list and a hash: under 0.1 us, no call of the source where a free block fits
/// after: tsl/framework/bfc_allocator.cc: regions of 2 MiB, then doubled; after a refusal, 0.9 of
///        that
class region_pool {
 public:
  explicit region_pool(memory_resource const& source) : source_(source) {}
  region_pool(region_pool const&) = delete;
  /// gives back all regions, used or not
  ~region_pool();

  /// means: `bytes` bytes, a positive multiple of 256; null: no free block fits, and the limit or
  ///        the source allows no further region
  /// fails: with the exception of the source; the pool is unchanged then
  void* allocate(std::int64_t bytes, std::int64_t requested, region_policy const& policy);
  /// means: the same, in a region of exactly `bytes` bytes if the limit has room for one
  void* allocate_apart(std::int64_t bytes, std::int64_t requested, region_policy const& policy);
  /// means: frees the block that begins at p and returns its bytes; 0: no block begins there
  std::int64_t release(void* p) noexcept;
  /// means: gives back regions without used blocks; no queue may still use their memory
  /// units: bytes given back
  std::int64_t trim() noexcept;

  /// Facts about the pool. units: bytes
  struct facts {
    std::int64_t reserved = 0;      // in regions
    std::int64_t in_use = 0;        // in blocks that are used
    std::int64_t requested = 0;     // bytes that callers asked for in used blocks
    std::int64_t largest_free = 0;  // the largest free block
    int regions = 0, blocks = 0;    // number of regions; of used blocks
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
  /// adds the free block behind b to b
  void join(region_block& b, region_block& after);
  void link(region_block& b, region_block& after);

  // ---- regions ----
  /// adds a region in which a block of `bytes` fits
  bool extend(std::int64_t bytes, region_policy const& policy);
  /// the region's single, free block; null: the source refused
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
