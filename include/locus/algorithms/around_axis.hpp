// SPDX-License-Identifier: Apache-2.0
// The extents of an array around the axes along which an algorithm works.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/shape/tile.hpp>   // tile

namespace locus::algorithms {
inline namespace LOCUS_MODE {

/// means: an array (outer, n, inner): n: the elements of axes first ... first + count - 1; outer,
///        inner: those of the axes in front of them and behind them
struct around_axis {
  std::int64_t outer = 1, n = 1, inner = 1;
  template <class T>
  around_axis(tile<T> const& x, int first, int count = 1) {
    for (int a = 0; a < x.rank; ++a)
      (a < first ? outer : a < first + count ? n : inner) *= x.extent[a];
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms
