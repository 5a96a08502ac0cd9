// SPDX-License-Identifier: Apache-2.0
// Folds and scans of chunks of contiguous lines on a GPU: a thread takes a chunk in its order from
// shared memory, where all threads of the block put the next elements of each chunk.
#pragma once
#include <cstdint>  // int64_t

#include <locus/algorithms/lanes_card.hpp>  // at_once
#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_EXEC_CHECK_DISABLE, LOCUS_UNROLLED
#include <locus/engine/gpu/block.hpp>  // block_threads, warp_threads

namespace locus::algorithms::cards {
inline namespace LOCUS_MODE {

/// fold: the totals of chunks. scan: chunks from their totals on. both: of lines that are one piece, whose
/// chunks lie in one block.
enum class chunk_step : unsigned char { fold, scan, both };

/// Step of the chunks of lines (outer, n), 256 elements of up to `lanes` chunks at a time: they are totals in
/// shared memory, and the elements behind them are loaded while one warp combines.
template <chunk_step Step, class Fold, bool Exclusive, bool Backwards, class T, class Starts>
struct chunks_in_pieces {
  using total = typename Fold::total;
  static constexpr unsigned wide = cuda_side::block_threads, row = wide + 1,
                            lanes = sizeof(total) < 128 ? unsigned(128 / sizeof(total)) : 1;
  /// of 64 registers a thread: the blocks of a processor hide one another's waits
  static constexpr unsigned least_blocks = sizeof(T) <= 4 ? 4 : 1;
  struct chunk_place {
    std::int64_t first, length;  // where its first element lies
  };
  struct tiles {
    total of[lanes * row], ends[lanes];
    chunk_place chunk[lanes];
  };
  struct piece {
    T of[lanes];
  };
  T const* x;
  typename Fold::result* r;            // of scans
  total* totals;                       // of folds; of scans, where each chunk begins
  std::int64_t n, chunk, chunks, all;  // all: chunks of all lines
  Starts starts;
  Fold fold{};

  /// chunks of a block: those of whole lines, where it has both steps
  std::int64_t span() const { return Step == chunk_step::both ? lanes / chunks * chunks : lanes; }
  std::int64_t blocks() const { return (all + span() - 1) / span(); }

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    tiles& s = *block.template shared<tiles, 1>();
    typename Block::template own<total> own;
    typename Block::template own<piece> next;
    std::int64_t const here = Step == chunk_step::both ? lanes / chunks * chunks : lanes,
                       length = n < chunk ? n : chunk;
    for (std::int64_t first = block.number() * here; first < all; first += block.count() * here) {
      block.each([&](unsigned t) {
        if (unsigned const l = lane_of(block, t); l < lanes)
          own[t] = begin(s, l, l < here ? first + l : all);
      });
      block.apart([&](unsigned t) { load(next[t], s, t, 0); });
      for (std::int64_t k = 0; k < length; k += wide) {
        block.each([&](unsigned t) {
          LOCUS_UNROLLED
          for (unsigned l = 0; l < lanes; ++l) s.of[l * row + t] = fold.widen(next[t].of[l]);
        });
        block.each([&](unsigned t) {
          if (k + wide < length) load(next[t], s, t, k + wide);
          if (unsigned const l = lane_of(block, t); l < lanes) {
            own[t] = combine < Step == chunk_step::scan > (s, l, k, own[t]);
            if (Step == chunk_step::both) s.ends[l] = own[t];
          }
        });
        if constexpr (Step == chunk_step::both)
          block.each([&](unsigned t) {
            if (unsigned const l = lane_of(block, t); l < here && first + l < all)
              combine<true>(s, l, k, begin_in_block(s, l, (first + l) / chunks));
          });
        if constexpr (Step != chunk_step::fold) block.each([&](unsigned t) { store(s, t, k); });
      }
      if constexpr (Step == chunk_step::fold)
        block.apart([&](unsigned t) {
          if (unsigned const l = lane_of(block, t); l < lanes && first + l < all)
            totals[first + l] = own[t];
        });
    }
  }

 private:
  /// means: the chunk of thread t, if it is below `lanes`: those of another warp in each block, since a
  ///        processor gives warps of one number to the same quarter of its units
  template <class Block>
  LOCUS_HOST_DEVICE static unsigned lane_of(Block const& block, unsigned t) {
    return (t + block.number() * cuda_side::warp_threads) % cuda_side::block_threads;
  }
  /// means: lane l has chunk c, or none; returns what it begins with
  LOCUS_HOST_DEVICE total begin(tiles& s, unsigned l, std::int64_t c) const {
    if (c >= all) {
      s.chunk[l] = {0, 0};
      return fold.identity();
    }
    std::int64_t const o = c / chunks, j = c % chunks * chunk;
    s.chunk[l] = {o * n + (Backwards ? n - 1 - j : j), n - j < chunk ? n - j : chunk};
    if constexpr (Step == chunk_step::scan)
      return totals ? totals[c] : starts.template of<Fold, Backwards>(o, 0, 1);
    else
      return fold.identity();
  }
  LOCUS_HOST_DEVICE static std::int64_t place(chunk_place const& c, std::int64_t j) {
    return c.first + (Backwards ? -j : j);
  }
  /// means: element k + t of each chunk
  LOCUS_HOST_DEVICE void load(piece& to, tiles const& s, unsigned t, std::int64_t k) const {
    LOCUS_UNROLLED
    for (unsigned l = 0; l < lanes; ++l)
      if (k + t < s.chunk[l].length)
        to.of[l] = x[place(s.chunk[l], k + t)];
      else
        to.of[l] = T(0);
  }
  LOCUS_HOST_DEVICE void store(tiles const& s, unsigned t, std::int64_t k) const {
    LOCUS_UNROLLED
    for (unsigned l = 0; l < lanes; ++l)
      if (k + t < s.chunk[l].length) r[place(s.chunk[l], k + t)] = fold.finish(s.of[l * row + t]);
  }
  /// means: the fold of t and the elements of a piece, which become the folds up to each where Scans
  template <bool Scans>
  LOCUS_HOST_DEVICE total combine(tiles& s, unsigned l, std::int64_t k, total t) const {
    std::int64_t const left = s.chunk[l].length - k;
    unsigned const there = left < 0 ? 0 : left < wide ? unsigned(left) : wide;
    total* const of = s.of + l * row;
    auto const one = [&](unsigned j, total v) {
      total const next = fold.combine(t, v);
      if constexpr (Scans) of[j] = Exclusive ? t : next;
      t = next;
    };
    unsigned j = 0;
    total v[at_once], coming[at_once];  // read while the ones in front are combined
    auto const read = [&](unsigned from) {
      for (unsigned i = 0; i < at_once; ++i) coming[i] = of[from + i];
    };
    if (there >= at_once) read(0);
    for (; j + at_once <= there; j += at_once) {
      for (unsigned i = 0; i < at_once; ++i) v[i] = coming[i];
      if (j + 2 * at_once <= there) read(j + at_once);
      for (unsigned i = 0; i < at_once; ++i) one(j + i, v[i]);
    }
    for (; j < there; ++j) one(j, of[j]);
    return t;
  }
  /// means: what chunk l of line o begins with, if the ends of the chunks in front are in the block
  LOCUS_HOST_DEVICE total begin_in_block(tiles const& s, unsigned l, std::int64_t o) const {
    auto const in_line = static_cast<unsigned>(l % chunks);
    total t = starts.template of<Fold, Backwards>(o, 0, 1);
    for (unsigned i = l - in_line; i < l; ++i) t = fold.combine(t, s.ends[i]);
    return t;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::cards
