// SPDX-License-Identifier: Apache-2.0
// The allocator of every device: best fit with coalescing, in regions that a source supplies (a
// driver, a simulated card, a pool of the user's).
#pragma once
#include <cstdint>  // uintptr_t

#include <locus/core/config.hpp>          // LOCUS_LEAN_BEGIN
#include <locus/core/error.hpp>           // configuration_error
#include <locus/core/lock.hpp>            // mutex
#include <locus/runtime/region_bins.hpp>  // free_bins, block_index

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
  ~region_pool() {
    while (regions_) give_back(&regions_);
    while (slab* const s = slabs_) slabs_ = s->next, delete s;
  }

  /// means: `bytes` bytes, a positive multiple of 256; null: no free block fits, and no region can
  ///        be had
  /// fails: with what the source throws; nothing has changed then
  void* allocate(std::int64_t bytes, std::int64_t requested, region_policy const& policy) {
    lock_guard hold(lock_);
    region_block* b = bins_.find(bytes);
    if (!b && extend(bytes, policy)) b = bins_.find(bytes);
    return b ? use(*b, bytes, requested) : nullptr;
  }
  /// means: the same in a region of its own, of exactly that size, where the limit has room for one
  void* allocate_apart(std::int64_t bytes, std::int64_t requested, region_policy const& policy) {
    {
      lock_guard hold(lock_);
      if (policy.growth && bytes <= policy.limit - reserved_)
        if (region_block* const b = add_region(bytes)) return use(*b, bytes, requested);
    }
    return allocate(bytes, requested, policy);
  }
  /// means: the bytes of the block that is free now; 0: no block begins there
  std::int64_t release(void* p) noexcept {
    lock_guard hold(lock_);
    region_block* b = index_.remove(p);
    if (!b) return 0;
    std::int64_t const bytes = b->bytes;
    in_use_ -= bytes, requested_ -= b->requested;
    b->requested = 0;
    if (b->after && !b->after->requested) join(*b, *b->after);
    if (region_block* const before = b->before; before && !before->requested) {
      bins_.remove(*before);
      link(*before, *b);
      b = before;
    }
    bins_.insert(*b);
    return bytes;
  }
  /// means: gives back the regions in which nothing is used; nobody may still work on their memory
  /// units: bytes given back
  std::int64_t trim() noexcept {
    lock_guard hold(lock_);
    std::int64_t const before = reserved_;
    for (region** r = &regions_; *r;)
      if (!(*r)->first->requested && !(*r)->first->after) {
        bins_.remove(*(*r)->first);
        give_back(r);
      } else
        r = &(*r)->next;
    if (!regions_) next_region_ = first_region;
    return before - reserved_;
  }

  /// What there is. units: bytes
  struct facts {
    std::int64_t reserved = 0;      // in regions
    std::int64_t in_use = 0;        // in blocks that are used
    std::int64_t requested = 0;     // what was asked for in them
    std::int64_t largest_free = 0;  // block
    int regions = 0, blocks = 0;    // blocks: used ones
  };
  facts look() {
    lock_guard hold(lock_);
    facts f{reserved_, in_use_, requested_, bins_.largest(), 0, static_cast<int>(index_.size())};
    for (region const* r = regions_; r; r = r->next) ++f.regions;
    return f;
  }
  std::int64_t reserved() const { return __atomic_load_n(&reserved_, __ATOMIC_RELAXED); }

 private:
  static constexpr std::int64_t first_region = std::int64_t(2) << 20;
  struct slab {
    region_block records[64];
    slab* next = nullptr;
  };

  // ---- records ----
  bool make_records() {
    if (unused_) return true;
    auto* const s = new (std::nothrow) slab;
    if (!s) return false;
    s->next = slabs_, slabs_ = s;
    for (region_block& r : s->records) recycle(r);
    return true;
  }
  region_block& take_record() {
    region_block& r = *unused_;
    unused_ = r.next;
    r = region_block{};
    return r;
  }
  void recycle(region_block& r) { r.next = unused_, unused_ = &r; }

  // ---- blocks ----
  void* use(region_block& b, std::int64_t bytes, std::int64_t requested) {
    if (!make_records() || !index_.make_room()) return nullptr;
    bins_.remove(b);
    if (b.bytes > bytes) {  // what is left stays free, behind it
      region_block& rest = take_record();
      rest.base = b.base + bytes, rest.bytes = b.bytes - bytes, rest.of = b.of;
      rest.before = &b, rest.after = b.after;
      if (b.after) b.after->before = &rest;
      b.after = &rest, b.bytes = bytes;
      bins_.insert(rest);
    }
    b.requested = requested > 0 ? requested : 1;
    in_use_ += bytes, requested_ += b.requested;
    index_.insert(&b);
    return b.base;
  }
  /// a free neighbour becomes a part of b
  void join(region_block& b, region_block& after) {
    bins_.remove(after);
    link(b, after);
  }
  void link(region_block& b, region_block& after) {
    b.bytes += after.bytes, b.after = after.after;
    if (b.after) b.after->before = &b;
    recycle(after);
  }

  // ---- regions ----
  /// one more region in which `bytes` fit
  bool extend(std::int64_t bytes, region_policy const& policy) {
    std::int64_t const left = (policy.limit - reserved_) / allocation_unit * allocation_unit;
    if (bytes > left) return false;
    std::int64_t next = next_region_;
    while (next < bytes && next < left) next = next <= INT64_MAX / 2 ? 2 * next : left;
    std::int64_t wanted = policy.growth && next < left ? next : left;
    bool refused = false;
    while (!add_region(wanted)) {
      if (wanted == bytes) return false;
      refused = true;
      wanted = wanted / 10 * 9 / allocation_unit * allocation_unit;
      if (wanted < bytes) wanted = bytes;
    }
    if (!refused) next_region_ = next == next_region_ && next <= INT64_MAX / 2 ? 2 * next : next;
    return true;
  }
  /// its one free block; null: the source refused
  region_block* add_region(std::int64_t bytes) {
    if (!make_records()) return nullptr;
    void* const p = source_.allocate(source_.context, static_cast<std::size_t>(bytes));
    if (!p) return nullptr;
    bool const aligned = reinterpret_cast<std::uintptr_t>(p) % allocation_unit == 0;
    auto* const r = aligned ? new (std::nothrow) region : nullptr;
    if (!r) source_.release(source_.context, p, static_cast<std::size_t>(bytes));
    if (!aligned)
      throw configuration_error(
          "locus: a memory resource returned memory that is not aligned to 256 bytes; align it");
    if (!r) return nullptr;
    region_block& b = take_record();
    r->base = b.base = static_cast<char*>(p), r->bytes = b.bytes = bytes;
    b.of = r, r->first = &b, r->next = regions_, regions_ = r;
    set_reserved(reserved_ + bytes);
    bins_.insert(b);
    return &b;
  }
  void give_back(region** at) noexcept {
    region* const r = *at;
    for (region_block* b = r->first; b;) {
      region_block* const after = b->after;
      recycle(*b);
      b = after;
    }
    *at = r->next;
    set_reserved(reserved_ - r->bytes);
    source_.release(source_.context, r->base, static_cast<std::size_t>(r->bytes));
    delete r;
  }
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
