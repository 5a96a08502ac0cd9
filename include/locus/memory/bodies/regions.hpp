// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/regions.hpp declares.
#pragma once
#include <new>  // nothrow

#include <locus/core/bytes.hpp>      // allocation_unit
#include <locus/core/error.hpp>      // configuration_error
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/memory/regions.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION region_pool::~region_pool() {
  while (regions_) give_back(&regions_);
  while (slab* const s = slabs_) slabs_ = s->next, delete s;
}

LOCUS_FUNCTION void* region_pool::allocate(std::int64_t bytes, std::int64_t requested,
                                           region_policy const& policy) {
  lock_guard hold(lock_);
  region_block* b = bins_.find(bytes);
  if (!b && extend(bytes, policy)) b = bins_.find(bytes);
  return b ? use(*b, bytes, requested) : nullptr;
}

LOCUS_FUNCTION void* region_pool::allocate_apart(std::int64_t bytes, std::int64_t requested,
                                                 region_policy const& policy) {
  {
    lock_guard hold(lock_);
    if (policy.growth && bytes <= policy.limit - reserved_)
      if (region_block* const b = add_region(bytes)) return use(*b, bytes, requested);
  }
  return allocate(bytes, requested, policy);
}

LOCUS_FUNCTION std::int64_t region_pool::release(void* p) noexcept {
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

LOCUS_FUNCTION std::int64_t region_pool::trim() noexcept {
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

LOCUS_FUNCTION region_pool::facts region_pool::look() {
  lock_guard hold(lock_);
  facts f{reserved_, in_use_, requested_, bins_.largest(), 0, static_cast<int>(index_.size())};
  for (region const* r = regions_; r; r = r->next) ++f.regions;
  return f;
}

LOCUS_FUNCTION bool region_pool::make_records() {
  if (unused_) return true;
  auto* const s = new (std::nothrow) slab;
  if (!s) return false;
  s->next = slabs_, slabs_ = s;
  for (region_block& r : s->records) recycle(r);
  return true;
}

LOCUS_FUNCTION region_block& region_pool::take_record() {
  region_block& r = *unused_;
  unused_ = r.next;
  r = region_block{};
  return r;
}

LOCUS_FUNCTION void* region_pool::use(region_block& b, std::int64_t bytes, std::int64_t requested) {
  if (!make_records() || !index_.make_room()) return nullptr;
  bins_.remove(b);
  if (b.bytes > bytes) {  // the rest stays a free block
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

LOCUS_FUNCTION void region_pool::join(region_block& b, region_block& after) {
  bins_.remove(after);
  link(b, after);
}

LOCUS_FUNCTION void region_pool::link(region_block& b, region_block& after) {
  b.bytes += after.bytes, b.after = after.after;
  if (b.after) b.after->before = &b;
  recycle(after);
}

LOCUS_FUNCTION bool region_pool::extend(std::int64_t bytes, region_policy const& policy) {
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

LOCUS_FUNCTION region_block* region_pool::add_region(std::int64_t bytes) {
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

LOCUS_FUNCTION void region_pool::give_back(region** at) noexcept {
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

}  // namespace locus::runtime

LOCUS_LEAN_END
