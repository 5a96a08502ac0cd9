// SPDX-License-Identifier: Apache-2.0
// A tile whose element type is known to the kernel alone, so that launches share code.
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
};

}  // namespace locus::kernel
