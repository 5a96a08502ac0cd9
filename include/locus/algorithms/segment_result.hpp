// SPDX-License-Identifier: Apache-2.0
// The element type of a fold of segments, and how its rows are cut.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // conditional

#include <locus/device/device.hpp>  // reduction
#include <locus/shape/element.hpp>  // sum_t

namespace locus::algorithms {

/// means: that of sum(x) for sums, that of x for extrema
template <reduction R, class T>
using segment_result = std::conditional_t<R == reduction::sum, sum_t<T>, T>;

/// means: the rows of one part: a segment adds its rows of a part in turn, and then the parts in turn. It
///        depends on the extents alone, so host and cards compute the same bits
constexpr std::int64_t segment_part(std::int64_t segments) {
  std::int64_t const least = 16384;
  return 4 * segments > least ? 4 * segments : least;
}

}  // namespace locus::algorithms
