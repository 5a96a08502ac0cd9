// SPDX-License-Identifier: Apache-2.0
#include "footprint.hpp"

#include <bit>

namespace ptx::counts {

footprint::page& footprint::page_of(std::uint64_t address) {
  std::uint64_t const number = address >> 12;
  auto& near = near_[number & 63];
  if (near.number != number) {
    auto& found = pages_[number];
    if (!found) found = std::make_unique<page>();
    near.number = number, near.at = found.get();
  }
  return *near.at;
}
bool footprint::misses(std::uint64_t sector, std::uint64_t block, std::uint32_t& misses_of_block,
                       std::uint32_t capacity, bool past) {
  page& p = page_of(sector << 5);
  std::size_t const k = sector & 127;
  bool const missed = past || p.block[k] != block || misses_of_block - p.when[k] > capacity;
  misses_of_block += missed;
  p.block[k] = block, p.when[k] = misses_of_block;
  return missed;
}
void footprint::add_to(figures& f) const {
  for (auto const& [number, p] : pages_)
    for (int k = 0; k < 128; ++k) {
      f[figure::load_unique] += p->read[k] != 0;
      f[figure::load_unique_bytes] += 4u * unsigned(std::popcount(p->read[k]));
      f[figure::store_unique] += p->written[k] != 0;
      f[figure::store_unique_bytes] += 4u * unsigned(std::popcount(p->written[k]));
      f[figure::store_partial] += p->written[k] != 0 && p->written[k] != 255;
    }
}

}  // namespace ptx::counts
