// SPDX-License-Identifier: Apache-2.0
// Moves of elements, parts of arrays, generators.
#pragma once
#include <locus/algorithms/moves.hpp>
#include <locus/algorithms/shift.hpp>
#include <locus/ops/at.hpp>
#include <locus/ops/grids.hpp>
#include <locus/ops/stack.hpp>

#include "archive.hpp"

namespace numpy {

template <class T, class Way>
void moves(archive& b) {
  auto const x = Way::template list<T>(b, "x"), y = Way::template list<T>(b, "y");
  auto const m = Way::template matrix<T>(b, "m");
  b.run<Way>("roll(x) axis=0 by=5", [](auto const& a) { return roll<0>(a, 5); }, x);
  b.run<Way>("roll(m) axis=0 by=-3", [](auto const& a) { return roll<0>(a, -3); }, m);
  b.run<Way>("roll(m) axis=1 by=1", [](auto const& a) { return roll<1>(a, 1); }, m);
  b.run<Way>("flip(x) axis=0", [](auto const& a) { return flip<0>(a); }, x);
  b.run<Way>("flip(m) axis=1", [](auto const& a) { return flip<1>(a); }, m);
  b.run<Way>(
      "pad(x) axis=0 before=2 after=3 value=1", [](auto const& a) { return pad<0>(a, 2, 3, T(1)); },
      x);
  b.run<Way>(
      "pad(m) axis=1 before=1 after=2 value=0", [](auto const& a) { return pad<1, 1, 2>(a); }, m);
  b.run<Way>("diagonal(m) offset=0", [](auto const& a) { return diagonal(a); }, m);
  b.run<Way>(
      "stack(x,y) axis=0", [](auto const& a, auto const& c) { return stack<0>(a, c); }, x, y);
  b.run<Way>(
      "stack(x,y) axis=1", [](auto const& a, auto const& c) { return stack<1>(a, c); }, x, y);
  b.run<Way>(
      "concatenate(x,y) axis=0", [](auto const& a, auto const& c) { return concatenate<0>(a, c); },
      x, y);
  b.run<Way>("concatenate(m,m) axis=1", [](auto const& a) { return concatenate<1>(a, a); }, m);
  b.run<Way>("transpose(m)", [](auto const& a) { return transpose(a); }, m);
  b.run<Way>("expand_dims(x) axis=1", [](auto const& a) { return expand_dims<1>(a); }, x);
  b.run<Way>("column(m) number=2", [](auto const& a) { return column_at(a, 2); }, m);
  std::int64_t const n = b.rows();
  b.run<Way>("every(x) step=3", [n](auto const& a) { return slice(a, strided{0, n, 3}); }, x);
  auto const mask = Way::template list<bool>(b, "mask");
  b.run<Way>(
      "where(mask,x,y)", [](auto const& k, auto const& a, auto const& c) { return where(k, a, c); },
      mask, x, y);
  if (n >= 3)
    if constexpr (Way::known == dyn || Way::known >= 3) {
      b.run<Way>("diagonal(m) offset=-2", [](auto const& a) { return diagonal<-2>(a); }, m);
      b.run<Way>("inside(x)", [](auto const& a) { return slice<0, 1, -1>(a); }, x);
      b.run<Way>("row(m) number=2", [](auto const& a) { return row_at(a, 2); }, m);
      b.run<Way>(
          "shift(x) axis=0 by=2 edge=wrap",
          [](auto const& a) { return shift<0, 2, beyond::wrap>(a); }, x);
      b.run<Way>(
          "shift(m) axis=0 by=-1 edge=keep",
          [](auto const& a) { return shift<0, -1, beyond::keep>(a); }, m);
      if constexpr (!is_boolean<T>)
        b.run<Way>(
            "shift(m) axis=0 by=1 edge=zero",
            [](auto const& a) { return shift<0, 1, beyond::zero>(a); }, m);
    }
  b.generate<Way>("eye() columns=5 diagonal=1", eye<T>(dextents<2>{n, 5}, 1));
  if constexpr (is_floating_v<T>)
    b.generate<Way>("linspace() first=-2 last=3", linspace<T>(dextents<1>{n}, -2, 3));
}

}  // namespace numpy
