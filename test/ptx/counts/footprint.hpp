// SPDX-License-Identifier: Apache-2.0
// Which sectors a launch touched, and which of them a block finds in its first cache.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "figures.hpp"

namespace ptx::counts {

class footprint {
 public:
  /// the words of 4 bytes at an address
  void read(std::uint64_t address, unsigned bytes) { mark(page_of(address).read, address, bytes); }
  void write(std::uint64_t address, unsigned bytes) {
    mark(page_of(address).written, address, bytes);
  }
  bool was_read(std::uint64_t sector) { return page_of(sector << 5).read[sector & 127] != 0; }
  /// A block's own share of the first cache: a sector stays until `capacity` others came. `past`:
  /// the load goes past it.
  bool misses(std::uint64_t sector, std::uint64_t block, std::uint32_t& misses_of_block,
              std::uint32_t capacity, bool past);
  /// the figures of the whole launch
  void add_to(figures& f) const;

 private:
  struct page {  // 128 sectors; a bit for each word of one
    std::uint8_t read[128]{}, written[128]{};
    std::uint64_t block[128]{};  // which loaded it last, and
    std::uint32_t when[128]{};   // after how many misses of that block
  };
  page& page_of(std::uint64_t address);
  static void mark(std::uint8_t* sectors, std::uint64_t address, unsigned bytes) {
    unsigned const words = (bytes + 3) / 4;
    sectors[address >> 5 & 127] |= std::uint8_t(((1u << words) - 1) << (address >> 2 & 7));
  }
  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
  struct {
    std::uint64_t number = ~std::uint64_t(0);
    page* at = nullptr;
  } near_[64];
};

}  // namespace ptx::counts
