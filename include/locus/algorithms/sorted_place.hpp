// SPDX-License-Identifier: Apache-2.0
// The place of a value among elements in rising order.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/shape/element.hpp>  // compute_t, is_floating_v

namespace locus::algorithms {

/// means: the order of sorts: NaN is no number, and stands behind all numbers
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_nan(T x) {
  if constexpr (is_floating_v<T>)
    return x != x;
  else
    return false;
}

/// means: v stands in front of x; BehindEqual: also if v equals x
template <bool BehindEqual, class Number>
LOCUS_HOST_DEVICE constexpr bool is_in_front(Number v, Number x) {
  return BehindEqual ? v <= x : v < x;
}

/// means: the number of elements of s that are less than x; BehindEqual: that are not greater; NaN
///        is equal to NaN, and greater than each number
/// shape: s (n) in rising order
/// cost:  log2(n) reads
template <bool BehindEqual, class T>
LOCUS_HOST_DEVICE constexpr std::int64_t place_in_sorted(T const* s, std::int64_t n, T x) {
  using number = compute_t<T>;
  auto const at = static_cast<number>(x);
  if (is_nan(at) && BehindEqual) return n;
  std::int64_t first = 0, end = n;
  while (first < end) {
    std::int64_t const middle = first + (end - first) / 2;
    auto const v = static_cast<number>(s[middle]);
    bool const front = is_nan(at) ? !is_nan(v) : is_in_front<BehindEqual>(v, at);
    (front ? first : end) = front ? middle + 1 : middle;
  }
  return first;
}

namespace host {
inline namespace LOCUS_MODE {

/// n sorted elements s, and, where ends is not null, the last element of each block of them.
template <class T>
struct sorted_elements {
  T const* s;
  std::int64_t n;
  T const* ends = nullptr;
  std::int64_t blocks = 1, block = n;
};

/// the blocks of elements that many places are searched in: their ends fit in the first cache
inline constexpr std::int64_t blocks_of_sorted = 4096;

/// means: the elements in blocks, whose last elements are stored in ends
/// shape: s: 4 blocks_of_sorted elements or more, ends: blocks_of_sorted
template <class T>
sorted_elements<T> in_blocks(T const* s, std::int64_t n, T* ends) {
  std::int64_t const block = (n + blocks_of_sorted - 1) / blocks_of_sorted,
                     blocks = (n + block - 1) / block;
  for (std::int64_t b = 0; b < blocks; ++b)
    ends[b] = s[b + 1 < blocks ? (b + 1) * block - 1 : n - 1];
  return {s, n, ends, blocks, block};
}

inline constexpr std::int64_t searches_at_once = 16;

/// means: first[w] += the number of elements of s[first[w]], ... (size) in front of at[w]
/// cost:  searches step by step at the same time, without branches: their reads overlap
template <bool BehindEqual, class T, class Number>
void narrow_searches(T const* s, std::int64_t size, Number const* at, std::int64_t* first) {
  for (std::int64_t rest = size; rest > 1;) {
    std::int64_t const half = rest / 2;
    for (std::int64_t w = 0; w < searches_at_once; ++w) {
      auto const v = static_cast<Number>(s[first[w] + half - 1]);
      first[w] += is_in_front<BehindEqual>(v, at[w]) ? half : 0;
    }
    rest -= half;
  }
  for (std::int64_t w = 0; w < searches_at_once; ++w)
    first[w] += is_in_front<BehindEqual>(static_cast<Number>(s[first[w]]), at[w]);
}

/// means: r[i] = place_in_sorted(of.s, of.n, x[i])
/// shape: x, r (count)
/// cost:  with blocks, the first steps read their ends, which lie together. In s itself the places of these
///        steps are apart by powers of two, and share few lines of a cache
template <bool BehindEqual, class T>
void places_in_sorted(sorted_elements<T> const& of, T const* x, std::int64_t count,
                      std::int64_t* r) {
  using number = compute_t<T>;
  constexpr std::int64_t lanes = searches_at_once;
  std::int64_t i = of.n > 0 ? 0 : count;
  for (std::int64_t k = 0; k < i; ++k) r[k] = 0;
  for (; i + lanes <= count; i += lanes) {
    std::int64_t first[lanes];
    number at[lanes];
    bool nan = false;
    for (std::int64_t w = 0; w < lanes; ++w) {
      first[w] = 0, at[w] = static_cast<number>(x[i + w]);
      nan = nan || is_nan(at[w]);
    }
    if (of.ends) {
      narrow_searches<BehindEqual>(of.ends, of.blocks, at, first);
      for (std::int64_t w = 0; w < lanes; ++w) {  // the last block overlaps the one in front of it
        std::int64_t const last = of.n - of.block, begin = first[w] * of.block;
        first[w] = begin < last ? begin : last;
      }
    }
    narrow_searches<BehindEqual>(of.s, of.block, at, first);
    for (std::int64_t w = 0; w < lanes; ++w) r[i + w] = first[w];
    for (std::int64_t w = 0; nan && w < lanes; ++w)
      if (is_nan(at[w])) r[i + w] = place_in_sorted<BehindEqual>(of.s, of.n, x[i + w]);
  }
  for (; i < count; ++i) r[i] = place_in_sorted<BehindEqual>(of.s, of.n, x[i]);
}

}  // namespace LOCUS_MODE
}  // namespace host

}  // namespace locus::algorithms
