// SPDX-License-Identifier: Apache-2.0
// Folds and scans on a GPU whose order is fixed: each lane takes its elements in turn.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // is_void

#include <locus/core/macros.hpp>       // LOCUS_HOST_DEVICE, LOCUS_EXEC_CHECK_DISABLE, LOCUS_MODE
#include <locus/engine/gpu/block.hpp>  // block_threads, warp_threads
#include <locus/engine/gpu/card_context.hpp>  // card_context

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// elements that a thread loads before it combines the first of them
inline constexpr int at_once = 8;

/// means: f(number, element) for elements j ... end - 1 of a line, in turn; at[j]: where element j lies
template <class Line, class T, class F>
LOCUS_HOST_DEVICE void each_in_turn(Line const& at, T const* x, std::int64_t j, std::int64_t end,
                                    F const& f) {
  for (; j + at_once <= end; j += at_once) {
    std::int64_t places[at_once];
    T v[at_once];
    for (int k = 0; k < at_once; ++k) v[k] = x[places[k] = at[j + k]];
    for (int k = 0; k < at_once; ++k) f(places[k], v[k]);
  }
  for (; j < end; ++j) {
    std::int64_t const place = at[j];
    f(place, x[place]);
  }
}

// A Fold has total, identity(), combine(total, total), widen(element), and finish(total) for scans.
// Lanes are a class with
//   std::int64_t count                                  the number of lanes
//   struct lane { std::int64_t length; ... }; lane at(std::int64_t c) const       lane c
//   std::int64_t place(lane const&, std::int64_t j) const                where its element j lies
//   total start(Fold const&, std::int64_t c) const                      of scans: where lane c begins

/// Where the elements of one lane lie.
template <class Lanes>
struct places_of_lane {
  Lanes const& of;
  typename Lanes::lane const& lane;
  LOCUS_HOST_DEVICE std::int64_t operator[](std::int64_t j) const { return of.place(lane, j); }
};
/// The fold of lane c, by one thread.
template <class Lanes, class Fold, class T>
struct lane_folds {
  Lanes of;
  T const* x;
  typename Fold::total* totals;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t c) const {
    auto const lane = of.at(c);
    auto t = fold.identity();
    each_in_turn(places_of_lane<Lanes>{of, lane}, x, 0, lane.length,
                 [&](std::int64_t, T v) { t = fold.combine(t, fold.widen(v)); });
    totals[c] = t;
  }
};
/// The scan of lane c, by one thread.
template <class Lanes, class Fold, bool Exclusive, class T, class R>
struct lane_scans {
  Lanes of;
  T const* x;
  R* r;
  Fold fold{};
  LOCUS_HOST_DEVICE void operator()(std::int64_t c) const {
    auto const lane = of.at(c);
    auto t = of.start(fold, c);
    each_in_turn(places_of_lane<Lanes>{of, lane}, x, 0, lane.length, [&](std::int64_t to, T v) {
      auto const next = fold.combine(t, fold.widen(v));
      r[to] = fold.finish(Exclusive ? t : next);
      t = next;
    });
  }
};

/// Folds of lanes into totals, or their scans into r (R: void: none): threads of one warp take a lane
/// each from a tile in shared memory, while the others load the next tile and store the one before.
/// Neighbouring threads of these have neighbouring elements of a lane.
template <class Lanes, class Fold, bool Exclusive, class T, class R>
struct lanes_in_tiles {
  using total = typename Fold::total;
  using lane = typename Lanes::lane;
  static constexpr bool scans = !std::is_void_v<R>;
  using result = std::conditional_t<scans, R, bool>;
  static constexpr unsigned lanes = cuda_side::warp_threads;
  // elements of a lane in a tile; two tiles of both sides take less than 34 KiB
  static constexpr unsigned bytes = unsigned(sizeof(T) + (scans ? sizeof(result) : 0)),
                            wide = bytes <= 8    ? 64
                                   : bytes <= 16 ? 32
                                                 : 16,
                            line = wide + 1;
  static constexpr unsigned movers = cuda_side::block_threads - lanes,
                            each = (lanes * wide + movers - 1) / movers;
  struct tiles {
    T in[2][lanes * line];
    result out[2][scans ? lanes * line : 1];
    lane of[lanes];
  };
  Lanes of;
  T const* x;
  total* totals;  // of folds
  R* r;           // of scans
  Fold fold{};

  std::int64_t blocks() const { return (of.count + lanes - 1) / lanes; }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    tiles& s = *block.template shared<tiles, 1>();
    typename Block::template own<total> own;
    for (std::int64_t first = std::int64_t(block.number()) * lanes; first < of.count;
         first += std::int64_t(block.count()) * lanes) {
      block.each([&](unsigned t) {
        if (unsigned const u = number_of(block, t); u < lanes) own[t] = begin(s.of[u], first + u);
      });
      std::int64_t longest = 0;
      for (lane const& l : s.of) longest = l.length > longest ? l.length : longest;
      std::int64_t const count = (longest + wide - 1) / wide;
      for (std::int64_t k = 0; k < count + (scans ? 2 : 1); ++k)
        block.each([&](unsigned t) {
          unsigned const u = number_of(block, t);
          if (u < lanes) {
            if (k >= 1 && k <= count) combine(s, u, k - 1, own[t]);
            return;
          }
          if (scans && k >= 2) store(s, u - lanes, k - 2);
          if (k < count) load(s, u - lanes, k);
        });
      if constexpr (!scans)
        block.each([&](unsigned t) {
          unsigned const u = number_of(block, t);
          if (u < lanes && first + u < of.count) totals[first + u] = own[t];
        });
    }
  }

 private:
  /// means: the number of thread t if the warp that folds comes first: another one in each block, since
  ///        a processor gives warps of one number to the same quarter of its units
  template <class Block>
  LOCUS_HOST_DEVICE static unsigned number_of(Block const& block, unsigned t) {
    return (t + block.number() * lanes) % cuda_side::block_threads;
  }
  LOCUS_HOST_DEVICE total begin(lane& l, std::int64_t c) const {
    if (c < of.count)
      l = of.at(c);
    else
      l.length = 0;
    if constexpr (scans)
      return c < of.count ? of.start(fold, c) : fold.identity();
    else
      return fold.identity();
  }
  /// means: f(e, where in a tile, lane, element of it) for the e-th element of a thread's share
  template <class F>
  LOCUS_HOST_DEVICE void each_of_share(tiles const& s, unsigned mover, std::int64_t k,
                                       F const& f) const {
    for (unsigned e = 0; e < each; ++e) {
      unsigned const i = mover + e * movers, own = i / wide, column = i % wide;
      if (i >= lanes * wide) continue;
      std::int64_t const j = k * wide + column;
      if (j < s.of[own].length) f(e, own * line + column, s.of[own], j);
    }
  }
  LOCUS_HOST_DEVICE void load(tiles& s, unsigned mover, std::int64_t k) const {
    T v[each];  // all loads before the first store
    each_of_share(s, mover, k, [&](unsigned e, unsigned, lane const& l, std::int64_t j) {
      v[e] = x[of.place(l, j)];
    });
    each_of_share(s, mover, k, [&](unsigned e, unsigned to, lane const&, std::int64_t) {
      s.in[k & 1][to] = v[e];
    });
  }
  LOCUS_HOST_DEVICE void store(tiles const& s, unsigned mover, std::int64_t k) const {
    if constexpr (scans)
      each_of_share(s, mover, k, [&](unsigned, unsigned from, lane const& l, std::int64_t j) {
        r[of.place(l, j)] = s.out[k & 1][from];
      });
  }
  LOCUS_HOST_DEVICE void combine(tiles& s, unsigned own, std::int64_t k, total& t) const {
    std::int64_t const left = s.of[own].length - k * wide;
    unsigned const there = left < 0 ? 0 : left < wide ? unsigned(left) : wide;
    T const* const in = s.in[k & 1] + own * line;
    auto const one = [&](unsigned j, T v) {
      total const next = fold.combine(t, fold.widen(v));
      if constexpr (scans) s.out[k & 1][own * line + j] = fold.finish(Exclusive ? t : next);
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

// Tiles are for lanes of some length that are far apart. Where neighbouring lanes have neighbouring
// elements, or few, a thread takes a lane from memory.

/// means: totals[c] = the fold of lane c
template <class Fold, class Lanes, class T>
void fold_in_tiles(card_context& here, Lanes const& of, T const* x, typename Fold::total* totals,
                   Fold const& fold = {}) {
  lanes_in_tiles<Lanes, Fold, false, T, void> const tiles{of, x, totals, nullptr, fold};
  here.start(tiles, tiles.blocks());
}
template <class Fold, class Lanes, class T>
void fold_by_threads(card_context& here, Lanes const& of, T const* x, typename Fold::total* totals,
                     Fold const& fold = {}) {
  here.each(of.count, lane_folds<Lanes, Fold, T>{of, x, totals, fold});
}
/// means: r[place of element j of lane c] = the fold of its start and of elements 0 ... j; Exclusive:
///        without element j
template <bool Exclusive, class Lanes, class Fold, class T, class R>
void scan_in_tiles(card_context& here, Lanes const& of, T const* x, R* r, Fold const& fold) {
  lanes_in_tiles<Lanes, Fold, Exclusive, T, R> const tiles{of, x, nullptr, r, fold};
  here.start(tiles, tiles.blocks());
}
template <bool Exclusive, class Lanes, class Fold, class T, class R>
void scan_by_threads(card_context& here, Lanes const& of, T const* x, R* r, Fold const& fold) {
  here.each(of.count, lane_scans<Lanes, Fold, Exclusive, T, R>{of, x, r, fold});
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
