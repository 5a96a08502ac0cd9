// SPDX-License-Identifier: Apache-2.0
// How a scan combines values, and how it cuts a line.
#pragma once
#include <cstdint>      // int64_t
#include <string_view>  // string_view

#include <locus/algorithms/segment_result.hpp>  // segment_result
#include <locus/core/macros.hpp>                // LOCUS_HOST_DEVICE
#include <locus/ops/functors.hpp>               // multiply_fn
#include <locus/work/reducer.hpp>               // reducer

namespace locus::algorithms {

enum class scan_kind : unsigned char { sum, product, max, min };

constexpr std::string_view name_of_scan(scan_kind k) {
  return k == scan_kind::sum       ? "cumsum"
         : k == scan_kind::product ? "cumprod"
         : k == scan_kind::max     ? "cummax"
                                   : "cummin";
}

/// means: floats are added and multiplied in double, integers and booleans in int64
template <scan_kind K, class T>
struct scan_fold {
  static constexpr bool adds = K == scan_kind::sum || K == scan_kind::product;
  using fold = kernel::reducer<adds                  ? reduction::sum
                               : K == scan_kind::max ? reduction::max
                                                     : reduction::min,
                               compute_t<T>>;
  using total = typename fold::total;
  using result = segment_result<adds ? reduction::sum : reduction::max, T>;
  LOCUS_HOST_DEVICE static constexpr total identity() {
    if constexpr (K == scan_kind::product)
      return total(1);
    else
      return fold::identity();
  }
  LOCUS_HOST_DEVICE static constexpr total combine(total a, total b) {
    if constexpr (K == scan_kind::product)
      return multiply_fn{}(a, b);
    else
      return fold::combine(a, b);
  }
  LOCUS_HOST_DEVICE static constexpr total widen(T v) {
    return static_cast<total>(compute_t<T>(v));
  }
  LOCUS_HOST_DEVICE static constexpr result finish(total t) {
    return static_cast<result>(static_cast<compute_t<result>>(t));
  }
};

/// means: the elements of a line that are folded in turn: a power of two, at least 256, about the
///        root of n; totals of chunks are folded in turn, too. It depends on n alone, so host and
///        cards compute the same bits, for any number of threads
constexpr std::int64_t scan_chunk(std::int64_t n) {
  std::int64_t chunk = 256;
  while (chunk * chunk < n) chunk *= 2;
  return chunk;
}

}  // namespace locus::algorithms
