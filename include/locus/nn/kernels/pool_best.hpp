// SPDX-License-Identifier: Apache-2.0
// The largest number of a pool, and its place.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_MODE

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

/// The largest number so far, of several the first. A NaN is larger than all numbers. (Metrics fold
/// in any order, by largest_fold; the host folds vectors, by pool_lines.)
template <class T>
struct pool_best {
  T value = T(0);
  int place = -1;  // -1: none

  LOCUS_HOST_DEVICE constexpr void add(T v, int at) {
    if (place < 0 || v > value || (v != v && value == value)) value = v, place = at;
  }
};

/// means: v equals best, the largest number of its window; both may be NaN
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_largest(T v, T best) {
  return v == best || (v != v && best != best);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::detail
