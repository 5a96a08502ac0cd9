// SPDX-License-Identifier: Apache-2.0
// The parts of an exchange of halos: the rows that travel, for counts and for runs.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_LEAN_BEGIN
#include <locus/device/device.hpp>  // place, beyond

LOCUS_LEAN_BEGIN

namespace locus::internal {

/// Rows that one piece of a tensor lends to a margin of another: `rows` rows from row `first` of the
/// whole tensor on, which stand `at` rows behind the first row of piece `to` (before it, below 0).
struct halo_part {
  int to, from;
  std::int64_t first, rows, at;
};
/// means: visit(part) for each part of an exchange of n rows that are cut by `where`: `before` rows
///        in front of each piece that has rows, `behind` rows behind it; also between pieces of other
///        ranks, whose numbers are below 0 or above the last of this rank
template <class Visit>
constexpr void each_halo_part(std::int64_t n, place const& where, beyond outside, int before,
                              int behind, Visit const& visit) {
  auto const row_of = [&](std::int64_t at) {  // -1: none
    if (at >= 0 && at < n) return at;
    if (outside == beyond::wrap) return ((at % n) + n) % n;
    if (outside == beyond::keep) return at < 0 ? 0 : n - 1;
    return std::int64_t(-1);
  };
  auto const owner_of = [&](std::int64_t row) {
    int k = -where.devices.before();
    while (where.piece_begin(n, k + 1) <= row) ++k;
    return k;
  };
  int const first = -where.devices.before();
  for (int k = first; k < first + where.global_count(); ++k) {
    std::int64_t const begin = where.piece_begin(n, k), end = where.piece_begin(n, k + 1);
    if (begin == end) continue;
    halo_part part{k, 0, 0, 0, 0};  // without rows: none
    auto const end_part = [&] {
      if (part.rows > 0) visit(part);
      part.rows = 0;
    };
    auto const add = [&](std::int64_t at) {
      std::int64_t const row = row_of(at);
      if (row < 0) return end_part();
      int const from = owner_of(row);
      if (part.rows > 0 && from == part.from && row == part.first + part.rows)
        return void(++part.rows);
      end_part();
      part = {k, from, row, 1, at - begin};
    };
    for (std::int64_t at = begin - before; at < begin; ++at) add(at);
    end_part();
    for (std::int64_t at = end; at < end + behind; ++at) add(at);
    end_part();
  }
}

}  // namespace locus::internal

LOCUS_LEAN_END
