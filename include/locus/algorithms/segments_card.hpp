// SPDX-License-Identifier: Apache-2.0
// Folds of rows by number on a GPU: ids are sorted with their places, and a thread for each number
// of the result folds its rows in their order.
#pragma once
#include <locus/algorithms/segment_result.hpp>  // segment_result
#include <locus/core/error.hpp>                 // shape_error
#include <locus/core/macros.hpp>                // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>    // card_context
#include <locus/engine/gpu/sorts.hpp>           // sort_pairs
#include <locus/work/reducer.hpp>               // reducer

namespace locus::algorithms::cards {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_size(std::int64_t ids, std::int64_t segments) {
  message text;
  throw shape_error(text << "locus: a fold of " << ids << " rows into " << segments
                         << " segments is too large for a GPU, which counts both below 2147483647; "
                            "fold parts of the data");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// Id j as a key, with its place; an id without a segment becomes `segments`.
template <class Id>
struct segment_keys {
  std::int64_t segments;
  Id const* ids;
  std::int32_t *keys, *places;
  LOCUS_HOST_DEVICE void operator()(std::int64_t j) const {
    auto const s = static_cast<std::int64_t>(ids[j]);
    keys[j] = static_cast<std::int32_t>(s < 0 || s > segments ? segments : s);
    places[j] = static_cast<std::int32_t>(j);
  }
};
/// Where each segment begins in the sorted keys; a template, so that a unit compiles it when used.
template <class Number>
struct segment_starts {
  Number const* keys;
  std::int64_t n;
  Number* starts;
  LOCUS_HOST_DEVICE void operator()(std::int64_t s) const {
    std::int64_t low = 0, high = n;  // keys in front of low are below s, those from high on are not
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      (keys[middle] < s ? low : high) = keys[middle] < s ? middle + 1 : middle;
    }
    starts[s] = static_cast<Number>(low);
  }
};
/// Number k of the result (outer, segments, inner).
template <reduction R, class T>
struct segment_folds {
  using fold = kernel::reducer<R, compute_t<T>>;
  using value = typename fold::value;
  std::int64_t n, inner, segments;
  std::int32_t const *starts, *places;
  T const* x;
  segment_result<R, T>* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t const c = k % inner, line = k / inner, s = line % segments, o = line / segments;
    auto total = fold::identity();
    for (std::int64_t j = starts[s]; j < starts[s + 1]; ++j)
      total = fold::combine(
          total, fold::widen(fold::add(fold::start(), value(x[(o * n + places[j]) * inner + c]))));
    r[k] = static_cast<segment_result<R, T>>(fold::finish(total, -1));
  }
};

/// means: as host::fold_by_number, bit for bit; a row with an id without a segment is left out
/// shape: x (outer, n, inner), ids (n), r (outer, segments, inner); n and segments below 2^31 - 1
template <reduction R, class T, class Id>
void fold_by_number(card_context& here, T const* x, Id const* ids, segment_result<R, T>* r,
                    std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t segments) {
  using number = std::int32_t;
  std::int64_t const most = 2147483646;
  if (n > most || segments > most) refuse_size(n, segments);
  number* const keys = here.take<number>(n);
  number* const places = here.take<number>(n);
  number* const sorted = here.take<number>(n);
  number* const order = here.take<number>(n);
  number* const starts = here.take<number>(segments + 1);
  int bits = 1;  // of `segments` itself
  while (bits < 31 && segments >> bits) ++bits;
  here.each(n, segment_keys<Id>{segments, ids, keys, places});
  here.run(cuda_side::sort_pairs<number, number>{n, keys, places, sorted, order, bits});
  here.each(segments + 1, segment_starts<number>{sorted, n, starts});
  here.each(outer * segments * inner, segment_folds<R, T>{n, inner, segments, starts, order, x, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
