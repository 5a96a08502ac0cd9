// SPDX-License-Identifier: Apache-2.0
// Rows by number, folds of segments, selections.
#pragma once
#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/nonzero.hpp>
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/algorithms/trim.hpp>

#include "archive.hpp"

namespace numpy {

template <class T, class Way>
void rows(archive& b) {
  auto const x = Way::template list<T>(b, "x");
  auto const m = Way::template matrix<T>(b, "m");
  auto const ids = Way::numbers(b, "ids", 7);
  auto const columns = [&] {
    auto c = Way::template few<3, std::int32_t>("columns");
    for (int k = 0; k < 3; ++k) c.value.data()[k] = 2 * k % 3;
    return c;
  }();
  if (b.rows() > 0) {
    auto const places = Way::numbers(b, "places", b.rows());
    b.run<Way>(
        "take(x,places) axis=0", [](auto const& a, auto const& i) { return take<0>(a, i); }, x,
        places);
    b.run<Way>(
        "take(m,places) axis=0", [](auto const& a, auto const& i) { return take<0>(a, i); }, m,
        places);
  }
  b.run<Way>(
      "take(m,columns) axis=1", [](auto const& a, auto const& i) { return take<1>(a, i); }, m,
      columns);
  b.run<Way>(
      "segment_sum(x,ids) axis=0 segments=7",
      [](auto const& a, auto const& i) { return segment_sum<7>(a, i); }, x, ids);
  b.run<Way>(
      "segment_sum(m,ids) axis=0 segments=7 open",
      [](auto const& a, auto const& i) { return segment_sum(a, i, 7); }, m, ids);
  b.run<Way>(
      "segment_sum(m,columns) axis=1 segments=4",
      [](auto const& a, auto const& i) { return segment_sum<4, 1>(a, i); }, m, columns);
  auto const few = Way::template few<7, T>("few");
  if constexpr (is_real<T> || is_complex_v<T>) {
    b.run<Way>(
        "bincount(ids,x)", [](auto const& i, auto const& a) { return bincount<7>(i, a); }, ids, x);
    b.run<Way>(
        "scatter_add(few,ids,x)",
        [](auto const& y, auto const& i, auto const& a) { return scatter_add(y, i, a); }, few, ids,
        x);
  }
  if constexpr (is_real<T>) {
    b.run<Way>(
        "segment_max(x,ids) axis=0 segments=7",
        [](auto const& a, auto const& i) { return segment_max<7>(a, i); }, x, ids);
    b.run<Way>(
        "segment_min(m,ids) axis=0 segments=7",
        [](auto const& a, auto const& i) { return segment_min<7>(a, i); }, m, ids);
  }
  auto const mask = Way::template list<bool>(b, "mask");
  b.run<Way>(
      "compress(mask,x) axis=0",
      [](auto const& k, auto const& a) { return trim(compress<0>(k, a)); }, mask, x);
  b.run<Way>(
      "compress(mask,m) axis=0",
      [](auto const& k, auto const& a) { return trim(compress<0>(k, a)); }, mask, m);
  b.run<Way>("nonzero(x)", [](auto const& a) { return trim(nonzero(a)); }, x);
  b.run<Way>("nonzero(m)", [](auto const& a) { return trim(nonzero(a)); }, m);
}

}  // namespace numpy
