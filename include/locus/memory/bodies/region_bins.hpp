// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that memory/region_bins.hpp declares.
#pragma once
#include <new>  // nothrow

#include <locus/core/bytes.hpp>          // allocation_unit
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/memory/region_bins.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void free_bins::insert(region_block& b) {
  int const i = bin_of(b.bytes);
  b.previous = nullptr, b.next = heads_[i];
  if (b.next) b.next->previous = &b;
  heads_[i] = &b;
  occupied_[i / 64] |= std::uint64_t(1) << i % 64;
}

LOCUS_FUNCTION void free_bins::remove(region_block& b) {
  int const i = bin_of(b.bytes);
  (b.previous ? b.previous->next : heads_[i]) = b.next;
  if (b.next) b.next->previous = b.previous;
  if (!heads_[i]) occupied_[i / 64] &= ~(std::uint64_t(1) << i % 64);
}

LOCUS_FUNCTION region_block* free_bins::find(std::int64_t bytes) const {
  constexpr int few = 32;
  int const own = bin_of(bytes);  // it may also have blocks smaller than `bytes`
  if (region_block* const b = smallest(own, bytes, few)) return b;
  if (int const larger = next_occupied(own + 1); larger < bins) return smallest(larger, bytes, few);
  return smallest(own, bytes, INT32_MAX);
}

LOCUS_FUNCTION std::int64_t free_bins::largest() const {
  std::int64_t most = 0;
  for (int i = bins; i-- > 0 && most == 0;)
    for (region_block const* b = heads_[i]; b; b = b->next)
      most = b->bytes > most ? b->bytes : most;
  return most;
}

LOCUS_FUNCTION int free_bins::bin_of(std::int64_t bytes) {
  auto const units = static_cast<std::uint64_t>(bytes / allocation_unit);
  if (units < fine) return static_cast<int>(units);
  int const e = 63 - __builtin_clzll(units) - 4;
  return fine * e + static_cast<int>(units >> e);
}

LOCUS_FUNCTION int free_bins::next_occupied(int from) const {
  for (int word = from / 64; word < (bins + 63) / 64; ++word) {
    std::uint64_t const here =
        word == from / 64 ? occupied_[word] & ~std::uint64_t(0) << from % 64 : occupied_[word];
    if (here) return 64 * word + __builtin_ctzll(here);
  }
  return bins;
}

LOCUS_FUNCTION region_block* free_bins::smallest(int bin, std::int64_t bytes, int look) const {
  region_block* best = nullptr;
  for (region_block* b = heads_[bin]; b && look-- > 0; b = b->next) {
    if (b->bytes == bytes) return b;
    if (b->bytes > bytes && (!best || b->bytes < best->bytes)) best = b;
  }
  return best;
}

LOCUS_FUNCTION bool block_index::make_room() {
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

LOCUS_FUNCTION region_block* block_index::remove(void const* p) {
  if (!capacity_) return nullptr;
  std::size_t i = home(p);
  while (cells_[i] && cells_[i]->base != p) i = next(i);
  region_block* const found = cells_[i];
  if (!found) return nullptr;
  --size_;
  for (std::size_t k = next(i); cells_[k]; k = next(k)) {  // closes the gap for later searches
    std::size_t const at = home(cells_[k]->base);
    if (((k - at) & (capacity_ - 1)) < ((k - i) & (capacity_ - 1))) continue;
    cells_[i] = cells_[k], i = k;
  }
  cells_[i] = nullptr;
  return found;
}

LOCUS_FUNCTION std::size_t block_index::home(void const* p) const {
  return static_cast<std::size_t>(
      (reinterpret_cast<std::uintptr_t>(p) >> 8) * 0x9E3779B97F4A7C15u >> 20 & (capacity_ - 1));
}

LOCUS_FUNCTION void block_index::place(region_block* b) {
  std::size_t i = home(b->base);
  while (cells_[i]) i = next(i);
  cells_[i] = b;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
