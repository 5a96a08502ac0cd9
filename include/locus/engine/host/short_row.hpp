// SPDX-License-Identifier: Apache-2.0
// The values of a short row, folded in the order in which loops over columns fold a column: a row has
// the same bits, whether a kernel turns it over or not.
#pragma once
#include <cstdint>      // int64_t
#include <type_traits>  // is_same

#include <locus/work/reducer.hpp>  // reducer

namespace locus::host {
inline namespace LOCUS_MODE {

/// the longest row that is folded in the order of a column
inline constexpr int longest_short_row = 16;

/// The values of one fold of a row, stored in packets of Lanes: the first lanes of a tail's packet lie
/// before the row.
template <class Reducer, int Lanes>
struct short_row {
  using T = typename Reducer::value;
  using result = typename Reducer::total;
  T values[Lanes + longest_short_row];

  /// means: the address of a packet whose first value is number i of the row, or lies before the row
  T* at(std::int64_t i) { return values + Lanes + i; }
  /// means: the fold of n values: of floats, sums of 8, by pairs, in double, and the smallest part of
  ///        the rest first
  result total(std::int64_t n) const {
    T const* v = values + Lanes;
    result all = Reducer::identity();
    if constexpr (std::is_same_v<typename Reducer::lane, float> && std::is_same_v<result, double>) {
      for (; n >= 8; n -= 8, v += 8)
        all +=
            static_cast<double>(((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])));
      std::int64_t const two = n & 4;
      if ((n & 1) != 0) all += static_cast<double>(v[n - 1]);
      if ((n & 2) != 0) all += static_cast<double>(v[two] + v[two + 1]);
      if ((n & 4) != 0) all += static_cast<double>((v[0] + v[1]) + (v[2] + v[3]));
    } else
      for (std::int64_t i = 0; i < n; ++i)
        all = Reducer::combine(all, Reducer::widen(Reducer::add(Reducer::start(), v[i])));
    return all;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::host
