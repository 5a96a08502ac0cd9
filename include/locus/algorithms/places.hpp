// SPDX-License-Identifier: Apache-2.0
// Elements that are not 0 or that are equal, and the indices of an element along each axis.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE
#include <locus/shape/element.hpp>  // compute_t
#include <locus/shape/shape.hpp>    // shape

namespace locus::algorithms {

/// means: v != 0, of any element type; NaN is not 0
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_not_zero(T v) {
  return compute_t<T>(v) != compute_t<T>(0);
}
/// means: a == b, of any element type; but NaN equals NaN
template <class T>
LOCUS_HOST_DEVICE constexpr bool are_equal(T a, T b) {
  auto const u = compute_t<T>(a), v = compute_t<T>(b);
  return u == v || (u != u && v != v);
}
/// means: place = the indices, along each axis, of element `number` of an array of these extents
LOCUS_HOST_DEVICE inline void unravel_into(std::int64_t* place, std::int64_t number,
                                           shape const& extents) {
  for (int a = extents.rank; a-- > 0;) {
    place[a] = number % extents.extent[a];
    number /= extents.extent[a];
  }
}

}  // namespace locus::algorithms
