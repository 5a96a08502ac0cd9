// SPDX-License-Identifier: Apache-2.0
// Folds of rows by number on a GPU: ids are sorted with their places, and the rows of each segment are
// folded in their order, part by part. Many numbers of few segments need no sort.
#pragma once
#include <locus/algorithms/lanes_card.hpp>         // fold_in_tiles, fold_by_threads
#include <locus/algorithms/segment_result.hpp>     // segment_result, segment_part
#include <locus/algorithms/segments_in_parts.hpp>  // segments_in_parts
#include <locus/core/error.hpp>                    // shape_error
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/sorts.hpp>         // sort_pairs
#include <locus/work/reducer.hpp>             // reducer

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
/// Where the rows of each segment begin in each part of the rows; row `parts`: where they end.
template <class Number>
struct part_starts {
  std::int64_t segments, parts, part;
  Number const *starts, *places;
  Number* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const s = i % segments, p = i / segments;
    std::int64_t low = starts[s], high = starts[s + 1];
    if (p == parts) low = high;
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      (places[middle] < p * part ? low : high) = places[middle] < p * part ? middle + 1 : middle;
    }
    r[i] = static_cast<Number>(low);
  }
};
/// The rows of a segment in one part, as lanes (outer, parts, segments, inner).
template <class Number>
struct segment_lanes {
  struct lane {
    std::int64_t length, first, base;
  };
  std::int64_t count, n, inner, segments, parts, step;  // step: from a part's starts to the next
  Number const *starts, *places;
  LOCUS_HOST_DEVICE lane at(std::int64_t k) const {
    std::int64_t const c = k % inner, row = k / inner, s = row % segments,
                       p = row / segments % parts, o = row / segments / parts;
    std::int64_t const begin = starts[p * step + s], end = starts[(p + 1) * step + s];
    return {end - begin, begin, o * n * inner + c};
  }
  LOCUS_HOST_DEVICE std::int64_t place(lane const& l, std::int64_t j) const {
    return l.base + places[l.first + j] * inner;
  }
};
/// parts that fill a card, a warp each: with fewer, a sort and lanes of single segments are sooner
inline constexpr std::int64_t worth_warps = 256;

template <reduction R, class T>
struct segment_fold {
  using fold = kernel::reducer<R, compute_t<T>>;
  using total = typename fold::total;
  LOCUS_HOST_DEVICE static constexpr total identity() { return fold::identity(); }
  LOCUS_HOST_DEVICE static constexpr total combine(total a, total b) { return fold::combine(a, b); }
  LOCUS_HOST_DEVICE static constexpr total widen(T v) {
    return fold::widen(fold::add(fold::start(), typename fold::value(v)));
  }
};
/// Number k of the result (outer, segments, inner), from the totals of parts.
template <reduction R, class T>
struct segment_ends {
  using fold = kernel::reducer<R, compute_t<T>>;
  std::int64_t parts, row;  // row: segments times inner
  typename fold::total const* totals;
  segment_result<R, T>* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t const first = k / row * parts * row + k % row;
    auto t = totals[first];
    for (std::int64_t p = 1; p < parts; ++p) t = fold::combine(t, totals[first + p * row]);
    r[k] = static_cast<segment_result<R, T>>(fold::finish(t, -1));
  }
};

/// The totals of all parts of a segment, as lanes (outer, segments).
struct lanes_of_parts {
  struct lane {
    std::int64_t length, first;
  };
  std::int64_t count, parts, row;
  LOCUS_HOST_DEVICE lane at(std::int64_t k) const {
    return {parts, k / row * parts * row + k % row};
  }
  LOCUS_HOST_DEVICE std::int64_t place(lane const& l, std::int64_t j) const {
    return l.first + j * row;
  }
};
template <class Fold>
struct fold_of_totals {
  using total = typename Fold::total;
  LOCUS_HOST_DEVICE static constexpr total identity() { return Fold::identity(); }
  LOCUS_HOST_DEVICE static constexpr total combine(total a, total b) { return Fold::combine(a, b); }
  LOCUS_HOST_DEVICE static constexpr total widen(total t) { return t; }
};
/// means: r (outer, row) = the folds of the totals (outer, parts, row) of parts
template <reduction R, class T, class Total>
void end_segments(card_context& here, Total* totals, segment_result<R, T>* r, std::int64_t outer,
                  std::int64_t parts, std::int64_t row) {
  if (parts > 64) {  // a thread for each number would wait for each total
    Total* const ends = here.take<Total>(outer * row);
    fold_in_tiles<fold_of_totals<segment_fold<R, T>>>(here, lanes_of_parts{outer * row, parts, row},
                                                      totals, ends);
    here.each(outer * row, segment_ends<R, T>{1, row, ends, r});
  } else
    here.each(outer * row, segment_ends<R, T>{parts, row, totals, r});
}

/// means: as host::fold_by_number, bit for bit; a row with an id without a segment is left out
/// shape: x (outer, n, inner), ids (n), r (outer, segments, inner); n and segments below 2^31 - 1
template <reduction R, class T, class Id>
void fold_by_number(card_context& here, T const* x, Id const* ids, segment_result<R, T>* r,
                    std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t segments) {
  using number = std::int32_t;
  std::int64_t const most = 2147483646;
  if (n > most || segments > most) refuse_size(n, segments);
  using fold = segment_fold<R, T>;
  std::int64_t const part = segment_part(segments), parts = n > part ? (n + part - 1) / part : 1,
                     count = outer * parts * segments * inner;
  here.needs(cuda_side::sort_pairs<number, number>{});
  using in_parts = segments_in_parts<fold, T, Id>;
  if (inner == 1 && segments <= in_parts::most && outer * parts >= worth_warps) {
    auto* const totals = here.take<typename fold::total>(count);
    here.start(in_parts{x, ids, totals, n, outer, parts, part, segments}, outer * parts);
    return end_segments<R, T>(here, totals, r, outer, parts, segments);
  }
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
  number* begins = starts;
  if (parts > 1) {
    begins = here.take<number>((parts + 1) * segments);
    here.each((parts + 1) * segments,
              part_starts<number>{segments, parts, part, starts, order, begins});
  }
  auto* const totals = here.take<typename fold::total>(count);
  segment_lanes<number> const lanes{count,  n,    inner, segments, parts, parts > 1 ? segments : 1,
                                    begins, order};
  if (inner < 8)
    fold_in_tiles<fold>(here, lanes, x, totals);
  else  // neighbouring threads read neighbouring columns
    fold_by_threads<fold>(here, lanes, x, totals);
  end_segments<R, T>(here, totals, r, outer, parts, segments * inner);
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
