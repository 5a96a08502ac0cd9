// SPDX-License-Identifier: Apache-2.0
// Calls that run by teams of threads on GPUs: a team shares a row, or columns of a matrix; or each
// thread takes a vector of an array. The order of a fold depends on the extents only.
#pragma once
#include <locus/core/macros.hpp>             // LOCUS_HOST_DEVICE
#include <locus/engine/gpu/block.hpp>        // each_of, block_threads
#include <locus/engine/gpu/call_arrays.hpp>  // vectors_of_arrays
#include <locus/engine/gpu/launch.hpp>       // start, workspace
#include <locus/engine/gpu/vectors.hpp>      // vector_of

LOCUS_LEAN_BEGIN

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

// The result of an operation's team() is trivially copyable, and has one of three sets of members.
//
// 1. Rows:
//   std::int64_t rows; std::int32_t length    32 or 256 threads share each row of `length` elements
//   static constexpr int vector, bytes        elements of one load of a thread, and their bytes
//   line at(row)                              the facts about a row that each of its threads needs
//   load(elements&, line, j)                  loads elements [j, j + vector); a short row only once
//   element one_of(elements, e)               element e of a load
//   first begin(line); add(first&, line, j, element); static combine(first, first)
//                                             a fold over the row
//   second begin(line, first); add(second&, line, first, j, element); static combine(second, second)
//                                             a second fold, which reads the first; empty type: none
//   settled settle(line, first, second)       the values that write() needs
//   write(line, settled, j, elements)         writes those of elements [j, j + vector) that exist
//   finish(line, first, second)               called once for each row
//   static constexpr unsigned least_blocks    if there: as of the body of a kernel (kernel.cuh)
// 2. Columns:
//   std::int64_t rows, columns                neighbouring threads take neighbouring columns
//   static constexpr int vector, batch        columns of one thread; rows that it loads at once
//   at(column)                                the facts about its columns that a thread needs
//   add<Batch>(totals, at, row, step)         adds Batch rows to the totals of `vector` columns
//   total; static identity(), static combine(total, total)
//   finish(column, total)                     called once for each column
//   std::int64_t zeros(), zero(i)             number of result elements to set to 0; sets one
// 3. Arrays: the members that call_arrays.hpp lists.

template <class Team>
inline constexpr bool shares_rows = requires { typename Team::line; };

/// A team of threads for each row.
template <class Rows>
struct teams_of_rows {
  using elements = typename Rows::elements;
  static constexpr int vector = Rows::vector, fit = 128 / Rows::bytes;
  /// vectors of a thread in registers, 128 bytes: a row that fits there is loaded once
  static constexpr int kept = fit < 1 ? 1 : fit;
  static constexpr unsigned least_blocks = [] {
    if constexpr (requires { Rows::least_blocks; })
      return Rows::least_blocks;
    else
      return 1u;
  }();
  Rows of;
  unsigned team;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    typename Block::template own<share> mine;
    typename Block::template own<first> one;
    typename Block::template own<second> two;
    block.apart([&](unsigned t) {
      share& s = mine[t];
      one[t] = first();
      std::int64_t const row = std::int64_t(block.number()) * (block_threads / team) + t / team;
      s.has_row = row < of.rows;
      if (!s.has_row) return;
      s.line = of.at(row);
      one[t] = of.begin(s.line);
      each(s, t % team, false, [&](std::int32_t j, elements const& v) {
        each_of_vector(v, j, [&](std::int32_t k, auto const& e) { of.add(one[t], s.line, k, e); });
      });
    });
    block.template fold<Rows>(one, team);
    bool const is_kept = of.length <= std::int64_t(kept * vector) * team;
    if constexpr (!std::is_empty_v<second>) {
      block.apart([&](unsigned t) {
        share& s = mine[t];
        two[t] = second();
        if (!s.has_row) return;
        two[t] = of.begin(s.line, one[t]);
        each(s, t % team, is_kept, [&](std::int32_t j, elements const& v) {
          each_of_vector(
              v, j, [&](std::int32_t k, auto const& e) { of.add(two[t], s.line, one[t], k, e); });
        });
      });
      block.template fold<Rows>(two, team);
    }
    block.apart([&](unsigned t) {
      share& s = mine[t];
      if (!s.has_row) return;
      auto const settled = of.settle(s.line, one[t], two[t]);
      each(s, t % team, is_kept,
           [&](std::int32_t j, elements const& v) { of.write(s.line, settled, j, v); });
      if (t % team == 0) of.finish(s.line, one[t], two[t]);
    });
  }

 private:
  using first = typename Rows::first;
  using second = typename Rows::second;
  struct share {
    bool has_row;
    typename Rows::line line;
    elements batch[kept];
  };
  /// means: f(j, elements from j on) for each vector of this thread; loaded: its batch has the
  ///        whole row
  LOCUS_EXEC_CHECK_DISABLE
  template <class F>
  LOCUS_HOST_DEVICE void each(share& s, unsigned thread, bool loaded, F const& f) const {
    std::int32_t const step = std::int32_t(team) * vector;
    for (std::int64_t begin = thread * vector; begin < of.length; begin += kept * step) {
      auto const origin = static_cast<std::int32_t>(begin);
      // number of vectors of this thread, by a division: an index past the end could wrap
      std::int32_t const there = (of.length - 1 - origin) / step + 1;
      if (!loaded)  // all loads before their first use
        for (int k = 0; k < kept; ++k)
          if (k < there) of.load(s.batch[k], s.line, origin + k * step);
      for (int k = 0; k < kept; ++k)
        if (k < there) f(origin + k * step, s.batch[k]);
    }
  }
  LOCUS_EXEC_CHECK_DISABLE
  template <class F>
  LOCUS_HOST_DEVICE void each_of_vector(elements const& v, std::int32_t j, F const& f) const {
    if (of.length - j >= vector)
      for (int e = 0; e < vector; ++e) f(j + e, Rows::one_of(v, e));
    else
      for (int e = 0; e < vector; ++e)
        if (e < of.length - j) f(j + e, Rows::one_of(v, e));
  }
};

/// A block has `across` threads side by side, each with a vector of columns, and block_threads /
/// across such lines, which share the rows of one part.
template <class Columns>
struct teams_of_columns {
  static constexpr int vector = Columns::vector, batch = Columns::batch;
  using total = typename Columns::total;
  struct totals {
    total of[vector];
  };
  Columns of;
  std::int64_t tiles, parts, each;  // each: rows of a part
  unsigned across;
  total* partials;  // [part][column]; null: there is one part

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    auto* const v = block.template shared<totals, block_threads>();
    std::int64_t const tile = block.number() % tiles, part = block.number() / tiles;
    block.each([&](unsigned t) {
      totals mine;
      for (total& one : mine.of) one = Columns::identity();
      if (column(tile, t) < of.columns) fold(mine, column(tile, t), part, t / across);
      v[t] = mine;
    });
    for (unsigned half = block_threads / 2; half >= across; half /= 2)
      block.each([&](unsigned t) {
        if (t < half)
          for (int j = 0; j < vector; ++j)
            v[t].of[j] = Columns::combine(v[t].of[j], v[t + half].of[j]);
      });
    block.apart([&](unsigned t) {
      total const* const from = v->of;  // totals of the tile's columns, contiguous
      std::int64_t const first = column(tile, 0), left = of.columns - first,
                         count = left < across * vector ? left : across * vector;
      if (partials)
        copy_words(partials + part * of.columns + first, from, count, t);
      else
        for (std::int64_t c = t; c < count; c += block_threads) of.finish(first + c, from[c]);
    });
    each_of(block, of.zeros(), [&](std::int64_t i) { of.zero(i); });
  }

 private:
  LOCUS_HOST_DEVICE std::int64_t column(std::int64_t tile, unsigned t) const {
    return (tile * across + t % across) * vector;
  }
  LOCUS_EXEC_CHECK_DISABLE
  LOCUS_HOST_DEVICE void fold(totals& to, std::int64_t c, std::int64_t part, unsigned down) const {
    auto const here = of.at(c);
    std::int64_t const step = block_threads / across, end = (part + 1) * each,
                       stop = end < of.rows ? end : of.rows;
    std::int64_t row = part * each + down;
    for (; row + (batch - 1) * step < stop; row += batch * step)
      of.template add<batch>(to.of, here, row, step);
    for (; row < stop; row += step) of.template add<1>(to.of, here, row, step);
  }
  /// copies words, so that neighbouring threads store neighbouring words; totals consist of doubles
  LOCUS_HOST_DEVICE static void copy_words(total* to, total const* from, std::int64_t count,
                                           unsigned t) {
    auto* const words = reinterpret_cast<double*>(to);
    auto const* const those = reinterpret_cast<double const*>(from);
    for (std::int64_t w = t; w < count * std::int64_t(sizeof(total) / sizeof(double));
         w += block_threads)
      words[w] = those[w];
  }
};

/// Combines the parts of each column: 8 neighbouring columns, which fill whole sectors of memory,
/// and 32 threads for the parts of each.
template <class Columns>
struct parts_of_columns {
  static constexpr unsigned across = 8;
  using total = typename Columns::total;
  Columns of;
  std::int64_t parts;
  total const* partials;

  LOCUS_EXEC_CHECK_DISABLE
  template <class Block>
  LOCUS_HOST_DEVICE void operator()(Block const& block) const {
    auto* const v = block.template shared<total, block_threads>();
    block.each([&](unsigned t) {
      std::int64_t const c = std::int64_t(block.number()) * across + t % across;
      total mine = Columns::identity();
      if (c < of.columns)
        for (std::int64_t part = t / across; part < parts; part += block_threads / across)
          mine = Columns::combine(mine, partials[part * of.columns + c]);
      v[t] = mine;
    });
    for (unsigned half = block_threads / 2; half >= across; half /= 2)
      block.each([&](unsigned t) {
        if (t < half) v[t] = Columns::combine(v[t], v[t + half]);
      });
    block.apart([&](unsigned t) {
      std::int64_t const c = std::int64_t(block.number()) * across + t;
      if (t < across && c < of.columns) of.finish(c, v[t]);
    });
  }
};

/// means: start(body, blocks) for each kernel of a team's body; obtain(bytes).data() is the memory
///        for its parts. The cut depends on the extents, not on the card; so the bits do not
///        either.
template <class Team, class Obtain, class Start>
void choose_teams(Team const& of, Obtain&& obtain, Start&& start) {
  if constexpr (goes_over_arrays<Team>) {
    vectors_of_arrays<Team> const all(of);
    if (all.blocks() > 0) start(all, all.blocks());
  } else if constexpr (shares_rows<Team>) {
    if (of.rows == 0) return;
    // a warp, for rows that it keeps in registers, or if rows alone fill a card: a warp needs no
    // exchange between warps
    std::int64_t const keeps =
        teams_of_rows<Team>::kept * std::int64_t(Team::vector * warp_threads);
    bool const many = of.rows >= 2048 && of.length <= 2048;
    unsigned const team = of.length <= keeps || many ? warp_threads : block_threads;
    start(teams_of_rows<Team>{of, team}, blocks_of(of.rows, block_threads / team));
  } else {
    using body = teams_of_columns<Team>;
    using total = typename Team::total;
    if (of.columns == 0) return;
    std::int64_t const vectors = (of.columns + body::vector - 1) / body::vector;
    unsigned across = warp_threads;
    while (across / 2 >= vectors) across /= 2;
    std::int64_t const tiles = (vectors + across - 1) / across;
    // parts, if the columns alone do not fill a card; each thread has at least 8 rows of a part
    std::int64_t const least = std::int64_t(block_threads / across) * 8, enough = 512;
    std::int64_t const most = (of.rows + least - 1) / least, wanted = (enough + tiles - 1) / tiles;
    std::int64_t parts = wanted < most ? wanted : most < 1 ? 1 : most;
    std::int64_t const each = ((of.rows + parts - 1) / parts + least - 1) / least * least;
    parts = each == 0 ? 1 : (of.rows + each - 1) / each;
    auto const memory =
        obtain(parts > 1 ? parts * of.columns * std::int64_t(sizeof(total)) : std::int64_t(0));
    auto* const partials = parts > 1 ? static_cast<total*>(memory.data()) : nullptr;
    start(body{of, tiles, parts, each, across, partials}, blocks_of(tiles * parts, 1));
    if (parts > 1)
      start(parts_of_columns<Team>{of, parts, partials},
            blocks_of(of.columns, parts_of_columns<Team>::across));
  }
}

template <class Team>
void start_teams(launch_site const& site, Team const& of) {
  choose_teams(
      of, [&](std::int64_t bytes) { return workspace(site, bytes); },
      [&](auto const& body, unsigned blocks) { start(site, body, blocks); });
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side

LOCUS_LEAN_END
