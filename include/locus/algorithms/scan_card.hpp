// SPDX-License-Identifier: Apache-2.0
// Scans of lines on a GPU: folds of chunks, a scan of their totals, and scans of chunks from there.
#pragma once
#include <type_traits>  // conditional_t

#include <locus/algorithms/scan_fold.hpp>     // scan_chunk
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/block.hpp>         // block_threads, warp_threads
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
/// elements that a thread loads before it combines the first of them
inline constexpr int at_once = 8;

/// means: f(number, element) for elements j ... end - 1 of a line, in turn
template <class Line, class T, class F>
LOCUS_HOST_DEVICE void each_in_turn(Line const& at, T const* x, F const& f) {
  std::int64_t j = at.first;
  for (; j + at_once <= at.end; j += at_once) {
    T v[at_once];
    for (int k = 0; k < at_once; ++k) v[k] = x[at[j + k]];
    for (int k = 0; k < at_once; ++k) f(at[j + k], v[k]);
  }
  for (; j < at.end; ++j) f(at[j], x[at[j]]);
}

template <class Fold, bool Backwards, class T>
struct chunk_folds {
  std::int64_t chunk, chunks, n, inner;
  T const* x;
  typename Fold::total* totals;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    chunk_of_line<Backwards> const at(i, chunk, chunks, n, inner);
    auto t = fold.identity();
    each_in_turn(at, x, [&](std::int64_t, T v) { t = fold.combine(t, fold.widen(v)); });
    totals[i] = t;
  }
};
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
    each_in_turn(at, x, [&](std::int64_t to, T v) {
      auto const next = fold.combine(t, fold.widen(v));
      r[to] = fold.finish(Exclusive ? t : next);
      t = next;
    });
  }
};

/// The folds of chunks, or their scans, of lines without columns: threads of one warp take a chunk
/// each from a tile in shared memory, while the others load the next tile and store the one before, so
/// that memory is read and written in whole sectors.
template <class Fold, bool Scans, bool Exclusive, bool Backwards, class T, class Starts>
struct chunks_in_tiles {
  using total = typename Fold::total;
  using result = std::conditional_t<Scans, typename Fold::result, bool>;
  static constexpr unsigned lanes = cuda_side::warp_threads;
  // elements of a chunk in a tile; two tiles of both sides take less than 32 KiB
  static constexpr unsigned bytes = unsigned(sizeof(T) + (Scans ? sizeof(result) : 0)),
                            wide = bytes <= 8    ? 64
                                   : bytes <= 16 ? 32
                                                 : 16,
                            line = wide + 1;
  static constexpr unsigned movers = cuda_side::block_threads - lanes,
                            each = (lanes * wide + movers - 1) / movers;
  struct tiles {
    T in[2][lanes * line];
    result out[2][Scans ? lanes * line : 1];
    std::int64_t from[lanes];  // the first element of each chunk
    std::int64_t length[lanes];
  };
  std::int64_t chunk, chunks, outer, n;
  T const* x;
  Starts starts;
  total* totals;  // written by folds, read by scans; null: a line is one chunk
  typename Fold::result* r;
  Fold fold{};

  static std::int64_t blocks(std::int64_t all) { return (all + lanes - 1) / lanes; }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    tiles& s = *block.template shared<tiles, 1>();
    typename Block::template own<total> own;
    std::int64_t const count = ((chunk < n ? chunk : n) + wide - 1) / wide, all = outer * chunks;
    for (std::int64_t first = std::int64_t(block.number()) * lanes; first < all;
         first += std::int64_t(block.count()) * lanes) {
      block.each([&](unsigned t) {
        if (t < lanes) own[t] = begin(s, t, first + t);
      });
      for (std::int64_t k = 0; k < count + (Scans ? 2 : 1); ++k)
        block.each([&](unsigned t) {
          if (t < lanes) {
            if (k >= 1 && k <= count) combine(s, t, k - 1, own[t]);
            return;
          }
          if (Scans && k >= 2) store(s, t - lanes, k - 2);
          if (k < count) load(s, t - lanes, k);
        });
      if constexpr (!Scans)
        block.each([&](unsigned t) {
          if (t < lanes && first + t < all) totals[first + t] = own[t];
        });
    }
  }

 private:
  LOCUS_HOST_DEVICE total begin(tiles& s, unsigned lane, std::int64_t c) const {
    s.length[lane] = 0;
    if (c >= outer * chunks) return fold.identity();
    std::int64_t const o = c / chunks, at = c % chunks * chunk;
    s.from[lane] = o * n + (Backwards ? n - 1 - at : at);
    s.length[lane] = n - at < chunk ? n - at : chunk;
    if constexpr (!Scans)
      return fold.identity();
    else
      return totals ? totals[c] : starts.template of<Fold, Backwards>(o, 0, 1);
  }
  /// means: f(the e-th element of a thread's share, where it lies in a tile, its place in memory)
  template <class F>
  LOCUS_HOST_DEVICE void each_of_share(tiles const& s, unsigned mover, std::int64_t k,
                                       F const& f) const {
    for (unsigned e = 0; e < each; ++e) {
      unsigned const i = mover + e * movers, lane = i / wide, column = i % wide;
      std::int64_t const j = k * wide + column;
      if (i >= lanes * wide || j >= s.length[lane]) continue;
      f(e, lane * line + column, s.from[lane] + (Backwards ? -j : j));
    }
  }
  LOCUS_HOST_DEVICE void load(tiles& s, unsigned mover, std::int64_t k) const {
    T v[each];  // all loads before the first store
    each_of_share(s, mover, k, [&](unsigned e, unsigned, std::int64_t from) { v[e] = x[from]; });
    each_of_share(s, mover, k,
                  [&](unsigned e, unsigned to, std::int64_t) { s.in[k & 1][to] = v[e]; });
  }
  LOCUS_HOST_DEVICE void store(tiles const& s, unsigned mover, std::int64_t k) const {
    if constexpr (Scans)
      each_of_share(s, mover, k,
                    [&](unsigned, unsigned from, std::int64_t to) { r[to] = s.out[k & 1][from]; });
  }
  LOCUS_HOST_DEVICE void combine(tiles& s, unsigned lane, std::int64_t k, total& t) const {
    std::int64_t const left = s.length[lane] - k * wide;
    unsigned const there = left < 0 ? 0 : left < wide ? unsigned(left) : wide;
    T const* const in = s.in[k & 1] + lane * line;
    auto const one = [&](unsigned j, T v) {
      total const next = fold.combine(t, fold.widen(v));
      if constexpr (Scans) s.out[k & 1][lane * line + j] = fold.finish(Exclusive ? t : next);
      t = next;
    };
    unsigned j = 0;
    for (; j + at_once <= there; j += at_once) {
      T v[at_once];
      for (unsigned l = 0; l < at_once; ++l) v[l] = in[j + l];
      for (unsigned l = 0; l < at_once; ++l) one(j + l, v[l]);
    }
    for (; j < there; ++j) one(j, in[j]);
  }
};
struct no_starts {};  // of folds
/// Lines of fewer elements are scanned by a thread each, from memory.
inline constexpr std::int64_t least_line_in_tiles = 16;

/// means: totals[o, k, c] = the fold of chunk k of a line
template <class Fold, bool Backwards, class T>
void fold_chunks(card_context& here, T const* x, typename Fold::total* totals, std::int64_t outer,
                 std::int64_t n, std::int64_t inner, Fold const& fold) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     all = outer * chunks * inner;
  using by_tiles = chunks_in_tiles<Fold, false, false, Backwards, T, no_starts>;
  if (inner == 1 && n >= least_line_in_tiles)
    here.start(by_tiles{chunk, chunks, outer, n, x, {}, totals, nullptr, fold},
               by_tiles::blocks(all));
  else
    here.each(all, chunk_folds<Fold, Backwards, T>{chunk, chunks, n, inner, x, totals, fold});
}

/// means: as host::scan_lines, bit for bit
template <class Fold, bool Exclusive, bool Backwards, class T, class Starts>
void scan_lines(card_context& here, T const* x, typename Fold::result* r, std::int64_t outer,
                std::int64_t n, std::int64_t inner, Starts const& starts, Fold const& fold = {}) {
  std::int64_t const chunk = scan_chunk(n), chunks = (n + chunk - 1) / chunk,
                     all = outer * chunks * inner;
  typename Fold::total* totals = nullptr;
  if (chunks > 1) {
    totals = here.take<typename Fold::total>(all);
    fold_chunks<Fold, Backwards>(here, x, totals, outer, n, inner, fold);
    if (inner == 1 && chunks > 64)
      here.start(starts_of_long_lines<Fold, Backwards, Starts>{chunks, outer, starts, totals, fold},
                 outer);
    else
      here.each(outer * inner,
                chunk_starts<Fold, Backwards, Starts>{chunks, inner, starts, totals, fold});
  }
  using by_tiles = chunks_in_tiles<Fold, true, Exclusive, Backwards, T, Starts>;
  if (inner == 1 && n >= least_line_in_tiles)
    here.start(by_tiles{chunk, chunks, outer, n, x, starts, totals, r, fold},
               by_tiles::blocks(all));
  else
    here.each(all, chunk_scans<Fold, Exclusive, Backwards, T, Starts>{chunk, chunks, n, inner, x,
                                                                      starts, totals, r, fold});
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
  fold_chunks<Fold, false>(here, x, totals, outer, n, inner, Fold());
  here.each(outer * max_devices * inner, line_totals<Fold>{chunks, inner, row, totals, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
