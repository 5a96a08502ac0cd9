// SPDX-License-Identifier: Apache-2.0
// A tile whose element type only the kernel knows, so that launches of all types share code.
#pragma once
#include <locus/shape/tile.hpp>  // tile

namespace locus::kernel {

struct any_tile {
  void* data = nullptr;
  int rank = 0;
  std::int64_t extent[max_rank]{};

  template <class T>
  LOCUS_HOST_DEVICE constexpr tile<T> of() const {
    tile<T> t{static_cast<T*>(data), rank, {}};
    for (int a = 0; a < max_rank; ++a) t.extent[a] = extent[a];
    return t;
  }
  LOCUS_HOST_DEVICE constexpr std::int64_t size() const {
    std::int64_t n = 1;
    for (int a = 0; a < rank; ++a) n *= extent[a];
    return n;
  }
  LOCUS_HOST_DEVICE constexpr std::int64_t stored() const { return data ? size() : 0; }
};

/// means: number of elements of all tiles that have memory; with `largest`, of the largest tile
LOCUS_HOST_DEVICE constexpr std::int64_t stored_elements(any_tile const* tiles, int count,
                                                         bool largest) {
  std::int64_t n = 0;
  for (int r = 0; r < count; ++r) {
    std::int64_t const here = tiles[r].stored();
    n = !largest ? n + here : n < here ? here : n;
  }
  return n;
}

}  // namespace locus::kernel
