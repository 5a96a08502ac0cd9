// SPDX-License-Identifier: Apache-2.0
// Scans of lines on a GPU: folds of chunks, a scan of their totals, and scans of chunks from there.
#pragma once
#include <locus/algorithms/chunks_card.hpp>   // chunks_in_pieces
#include <locus/algorithms/lanes_card.hpp>    // fold_in_tiles, scan_in_tiles
#include <locus/algorithms/scan_fold.hpp>     // scan_chunk
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// Totals of a line, `step` apart, from which each chunk begins.
template <class Fold>
struct totals_in_turn {
  using total = typename Fold::total;
  total* first;
  std::int64_t step;
  Fold const& fold;
  /// means: of `count` totals, each becomes the fold of start and those in front; returns that of all
  LOCUS_HOST_DEVICE total operator()(total start, std::int64_t count) const {
    std::int64_t k = 0;
    for (; k + at_once <= count; k += at_once) {
      total own[at_once];
      for (int l = 0; l < at_once; ++l) own[l] = first[(k + l) * step];
      for (int l = 0; l < at_once; ++l) {
        total const next = fold.combine(start, own[l]);
        own[l] = start;
        start = next;
      }
      for (int l = 0; l < at_once; ++l) first[(k + l) * step] = own[l];
    }
    for (; k < count; ++k) {
      total const next = fold.combine(start, first[k * step]);
      first[k * step] = start;
      start = next;
    }
    return start;
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
    totals_in_turn<Fold>{totals + o * chunks * inner + c, inner,
                         fold}(starts.template of<Fold, Backwards>(o, c, inner), chunks);
  }
};
/// The same for lines of many chunks without columns: a block loads totals of a line, one thread
/// combines them.
template <class Fold, bool Backwards, class Starts>
struct starts_of_long_lines {
  using total = typename Fold::total;
  static constexpr unsigned part = 1024;
  std::int64_t chunks, outer;
  Starts starts;
  total* totals;
  Fold fold{};
  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    total* const kept = block.template shared<total, part>();
    typename Block::template own<total> start;
    for (std::int64_t o = block.number(); o < outer; o += block.count()) {
      block.apart([&](unsigned t) {
        if (t == 0) start[t] = starts.template of<Fold, Backwards>(o, 0, 1);
      });
      for (std::int64_t k = 0; k < chunks; k += part) {
        std::int64_t const there = chunks - k < part ? chunks - k : part;
        total* const from = totals + o * chunks + k;
        block.each([&](unsigned t) {
          for (std::int64_t i = t; i < there; i += block.size()) kept[i] = from[i];
        });
        block.each([&](unsigned t) {
          if (t == 0) start[t] = totals_in_turn<Fold>{kept, 1, fold}(start[t], there);
        });
        block.each([&](unsigned t) {
          for (std::int64_t i = t; i < there; i += block.size()) from[i] = kept[i];
        });
      }
    }
  }
};
struct no_starts {};  // of folds
/// Chunks of lines as lanes (outer, chunks, inner). Columns: inner may be more than 1.
template <bool Columns, bool Backwards, class Total, class Starts = no_starts>
struct chunk_lanes {
  struct lane {
    std::int64_t length, first;
  };
  std::int64_t count, chunk, chunks, n, inner;
  Starts starts{};
  Total const* totals = nullptr;  // from which chunks begin; null: a line is one chunk
  LOCUS_HOST_DEVICE lane at(std::int64_t i) const {
    std::int64_t const c = i % inner, row = i / inner, o = row / chunks, j = row % chunks * chunk;
    return {n - j < chunk ? n - j : chunk, (o * n + (Backwards ? n - 1 - j : j)) * inner + c};
  }
  LOCUS_HOST_DEVICE std::int64_t place(lane const& l, std::int64_t j) const {
    return l.first + (Backwards ? -j : j) * (Columns ? inner : 1);
  }
  template <class Fold>
  LOCUS_HOST_DEVICE Total start(Fold const&, std::int64_t i) const {
    return totals ? totals[i]
                  : starts.template of<Fold, Backwards>(i / inner / chunks, i % inner, inner);
  }
};
/// means: columns lie side by side, and short lines fill no tile: a thread takes a chunk
constexpr bool are_by_threads(std::int64_t n, std::int64_t inner) { return inner > 1 || n < 16; }

template <chunk_step Step, class Fold, bool Exclusive, bool Backwards, class T, class Starts>
void run_chunks(card_context& here, T const* x, typename Fold::result* r,
                typename Fold::total* totals, std::int64_t outer, std::int64_t n,
                Starts const& starts, Fold const& fold) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  chunks_in_pieces<Step, Fold, Exclusive, Backwards, T, Starts> const body{
      x, r, totals, n, chunk, chunks, outer * chunks, starts, fold};
  here.start(body, body.blocks());
}

/// means: totals[o, k, c] = the fold of chunk k of a line
template <class Fold, bool Backwards, class T>
void fold_chunks(card_context& here, T const* x, typename Fold::total* totals, std::int64_t outer,
                 std::int64_t n, std::int64_t inner, Fold const& fold) {
  using total = typename Fold::total;
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     all = outer * chunks * inner;
  if (inner == 1 && chunks > 1)
    run_chunks<chunk_step::fold, Fold, false, Backwards>(here, x, nullptr, totals, outer, n,
                                                         no_starts{}, fold);
  else if (are_by_threads(n, inner))
    fold_by_threads(here, chunk_lanes<true, Backwards, total>{all, chunk, chunks, n, inner}, x,
                    totals, fold);
  else
    fold_in_tiles(here, chunk_lanes<false, Backwards, total>{all, chunk, chunks, n, 1}, x, totals,
                  fold);
}

/// means: as host::scan_lines, bit for bit
template <class Fold, bool Exclusive, bool Backwards, class T, class Starts>
void scan_lines(card_context& here, T const* x, typename Fold::result* r, std::int64_t outer,
                std::int64_t n, std::int64_t inner, Starts const& starts, Fold const& fold = {}) {
  using total = typename Fold::total;
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     all = outer * chunks * inner;
  total* totals = nullptr;
  if (inner == 1 && chunks > 1 && chunk == cuda_side::block_threads &&
      chunks <= std::int64_t(128 / sizeof(total)))
    return run_chunks<chunk_step::both, Fold, Exclusive, Backwards>(here, x, r, totals, outer, n,
                                                                    starts, fold);
  if (chunks > 1) {
    totals = here.take<total>(all);
    fold_chunks<Fold, Backwards>(here, x, totals, outer, n, inner, fold);
    if (inner == 1 && chunks > 64)
      here.start(starts_of_long_lines<Fold, Backwards, Starts>{chunks, outer, starts, totals, fold},
                 outer);
    else
      here.each(outer * inner,
                chunk_starts<Fold, Backwards, Starts>{chunks, inner, starts, totals, fold});
  }
  if (inner == 1 && chunks > 1)
    run_chunks<chunk_step::scan, Fold, Exclusive, Backwards>(here, x, r, totals, outer, n, starts,
                                                             fold);
  else if (are_by_threads(n, inner))
    scan_by_threads<Exclusive>(
        here,
        chunk_lanes<true, Backwards, total, Starts>{all, chunk, chunks, n, inner, starts, totals},
        x, r, fold);
  else
    scan_in_tiles<Exclusive>(
        here,
        chunk_lanes<false, Backwards, total, Starts>{all, chunk, chunks, n, 1, starts, totals}, x,
        r, fold);
}

/// Number i of (outer, rows, inner): the total of a line in one row, 0 in the others.
template <class Fold>
struct line_totals {
  std::int64_t chunks, inner, row, rows;
  typename Fold::total const* totals;
  typename Fold::total* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const c = i % inner, k = i / inner % rows, o = i / inner / rows;
    auto t = k == row ? Fold::identity() : typename Fold::total(0);
    for (std::int64_t j = 0; k == row && j < chunks; ++j)
      t = Fold::combine(t, totals[(o * chunks + j) * inner + c]);
    r[i] = t;
  }
};
/// means: as host::fold_lines, bit for bit
template <class Fold, class T>
void fold_lines(card_context& here, T const* x, typename Fold::total* r, std::int64_t outer,
                std::int64_t n, std::int64_t inner, std::int64_t row, std::int64_t rows) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk;
  auto* const totals = here.take<typename Fold::total>(outer * chunks * inner);
  fold_chunks<Fold, false>(here, x, totals, outer, n, inner, Fold());
  here.each(outer * rows * inner, line_totals<Fold>{chunks, inner, row, rows, totals, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
