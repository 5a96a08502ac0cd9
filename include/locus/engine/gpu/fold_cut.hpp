// SPDX-License-Identifier: Apache-2.0
// How many threads and blocks of a GPU share a fold.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>       // LOCUS_LEAN_BEGIN
#include <locus/engine/gpu/block.hpp>  // block_threads, warp_threads

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {

/// means: the cut of a fold; it depends on numbers of vectors and points, never on a card
struct fold_cut {
  unsigned team_bits = 8, across_bits = 5;
  std::int64_t parts = 1, each = 1, tiles = 1;

  /// means: folds along rows: `outputs` rows of `vectors` vectors
  static fold_cut of_rows(std::int64_t outputs, std::int64_t vectors) {
    fold_cut c;
    c.each = vectors;
    bool const many = outputs >= 2 * vectors && vectors <= 64 * warp_threads;
    if (vectors <= 2 * warp_threads || many) {
      c.team_bits = 0;  // four vectors for each thread, at most a warp
      while (c.team_bits < 5 && vectors > std::int64_t(4) << c.team_bits) ++c.team_bits;
    } else
      c.cut(outputs, vectors, 8 * block_threads, 4096);
    return c;
  }
  /// means: folds down columns: `points` for each vector of outputs. Few columns for each block
  ///        mean few parts to store
  static fold_cut of_columns(std::int64_t vectors, std::int64_t points) {
    fold_cut c;
    c.each = points;
    c.across_bits = points <= warp_threads ? 8 : 5;
    while (c.across_bits > 0 && std::int64_t(1) << (c.across_bits - 1) >= vectors) --c.across_bits;
    std::int64_t const across = std::int64_t(1) << c.across_bits;
    c.tiles = (vectors + across - 1) / across;
    if (points > warp_threads) c.cut(c.tiles, points, 8 * (block_threads / across), 512);
    return c;
  }

 private:
  /// means: several parts if outputs alone do not fill a card: up to `enough` blocks, each part
  ///        with at least `least`. `each` is rounded up, so that no part is empty
  void cut(std::int64_t blocks, std::int64_t all, std::int64_t least, std::int64_t enough) {
    std::int64_t wanted = blocks < enough / 4 ? enough / blocks : 1;
    if (wanted > all / least) wanted = all / least;
    if (wanted <= 1) return;
    each = (all + wanted - 1) / wanted;
    parts = (all + each - 1) / each;
  }
};

}  // namespace locus::cuda_side

LOCUS_LEAN_END
