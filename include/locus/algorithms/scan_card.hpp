// SPDX-License-Identifier: Apache-2.0
// Scans of lines on a GPU: folds of chunks, a scan of their totals, and scans of chunks from there.
#pragma once
#include <locus/algorithms/scan_fold.hpp>     // scan_chunk
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// A line of a chunk: number i of (outer, chunks, inner).
template <bool Backwards>
struct chunk_of_line {
  std::int64_t o, k, c, first, end, n, inner;
  LOCUS_HOST_DEVICE chunk_of_line(std::int64_t i, std::int64_t chunk, std::int64_t chunks,
                                  std::int64_t length, std::int64_t columns)
      : o(i / columns / chunks), k(i / columns % chunks), c(i % columns), first(k * chunk),
        end(first + chunk < length ? first + chunk : length), n(length), inner(columns) {}
  LOCUS_HOST_DEVICE std::int64_t operator[](std::int64_t j) const {
    return (o * n + (Backwards ? n - 1 - j : j)) * inner + c;
  }
};
template <class Fold, bool Backwards, class T>
struct chunk_folds {
  std::int64_t chunk, chunks, n, inner;
  T const* x;
  typename Fold::total* totals;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    chunk_of_line<Backwards> const at(i, chunk, chunks, n, inner);
    auto t = fold.identity();
    for (std::int64_t j = at.first; j < at.end; ++j) t = fold.combine(t, fold.widen(x[at[j]]));
    totals[i] = t;
  }
};
/// Line i of (outer, inner): the fold of the chunks in front of each chunk.
template <class Fold, bool Backwards, class Starts>
struct chunk_starts {
  std::int64_t chunks, inner;
  Starts starts;
  typename Fold::total* totals;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const o = i / inner, c = i % inner;
    auto t = starts.template of<Fold, Backwards>(o, c, inner);
    for (std::int64_t k = 0; k < chunks; ++k) {
      auto& own = totals[(o * chunks + k) * inner + c];
      auto const before = t;
      t = fold.combine(before, own);
      own = before;
    }
  }
};
template <class Fold, bool Exclusive, bool Backwards, class T, class Starts>
struct chunk_scans {
  std::int64_t chunk, chunks, n, inner;
  T const* x;
  Starts starts;
  typename Fold::total const* totals;  // null: a line is one chunk
  typename Fold::result* r;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    chunk_of_line<Backwards> const at(i, chunk, chunks, n, inner);
    auto t = totals ? totals[i] : starts.template of<Fold, Backwards>(at.o, at.c, inner);
    for (std::int64_t j = at.first; j < at.end; ++j) {
      auto const next = fold.combine(t, fold.widen(x[at[j]]));
      r[at[j]] = fold.finish(Exclusive ? t : next);
      t = next;
    }
  }
};

/// means: as host::scan_lines, bit for bit
template <class Fold, bool Exclusive, bool Backwards, class T, class Starts>
void scan_lines(card_context& here, T const* x, typename Fold::result* r, std::int64_t outer,
                std::int64_t n, std::int64_t inner, Starts const& starts, Fold const& fold = {}) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  typename Fold::total* totals = nullptr;
  if (chunks > 1) {
    totals = here.take<typename Fold::total>(outer * chunks * inner);
    here.each(outer * chunks * inner,
              chunk_folds<Fold, Backwards, T>{chunk, chunks, n, inner, x, totals, fold});
    here.each(outer * inner,
              chunk_starts<Fold, Backwards, Starts>{chunks, inner, starts, totals, fold});
  }
  here.each(outer * chunks * inner, chunk_scans<Fold, Exclusive, Backwards, T, Starts>{
                                        chunk, chunks, n, inner, x, starts, totals, r, fold});
}

/// Number i of (outer, max_devices, inner): the total of a line in one row, 0 in the others.
template <class Fold>
struct line_totals {
  std::int64_t chunks, inner, row;
  typename Fold::total const* totals;
  typename Fold::total* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const c = i % inner, k = i / inner % max_devices, o = i / inner / max_devices;
    auto t = k == row ? Fold::identity() : typename Fold::total(0);
    for (std::int64_t j = 0; k == row && j < chunks; ++j)
      t = Fold::combine(t, totals[(o * chunks + j) * inner + c]);
    r[i] = t;
  }
};
/// means: as host::fold_lines, bit for bit
template <class Fold, class T>
void fold_lines(card_context& here, T const* x, typename Fold::total* r, std::int64_t outer,
                std::int64_t n, std::int64_t inner, std::int64_t row) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  auto* const totals = here.take<typename Fold::total>(outer * chunks * inner);
  here.each(outer * chunks * inner,
            chunk_folds<Fold, false, T>{chunk, chunks, n, inner, x, totals});
  here.each(outer * max_devices * inner, line_totals<Fold>{chunks, inner, row, totals, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
