// SPDX-License-Identifier: Apache-2.0
// The largest number of a pool, and which one it is.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_MODE

namespace locus::nn::detail {
inline namespace LOCUS_MODE {

/// The largest so far, the first of several. A NaN is larger than all. (Metrics fold in any order: largest_fold; the host folds
/// vectors: pool_lines.)
template <class T>
struct pool_best {
  T value = T(0);
  int place = -1;  // -1: none

  LOCUS_HOST_DEVICE constexpr void add(T v, int at) {
    if (place < 0 || v > value || (v != v && value == value)) value = v, place = at;
  }
};

/// means: v is as large as the largest of its window; a NaN is where that is one
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_largest(T v, T best) {
  return v == best || (v != v && best != best);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::detail
