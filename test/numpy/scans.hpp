// SPDX-License-Identifier: Apache-2.0
// Scans, and folds by a functor of the program.
#pragma once
#include <locus/algorithms/by_functor.hpp>
#include <locus/algorithms/scan.hpp>

#include "archive.hpp"

namespace numpy {

/// means: b where it is above 1, else a: associative, and not commutative
struct last_above_one {
  template <class T>
  LOCUS_HOST_DEVICE T operator()(T a, T b) const {
    return b > T(1) ? b : a;
  }
};

template <class T, class Way>
void scans(archive& b) {
  auto const x = Way::template list<T>(b, "x");
  auto const m = Way::template matrix<T>(b, "m");
  b.run<Way>("cumsum(x) axis=0", [](auto const& a) { return cumsum<0>(a); }, x);
  b.run<Way>(
      "cumsum(x) axis=0 exclusive", [](auto const& a) { return cumsum<0>(a, exclusive); }, x);
  b.run<Way>("cumsum(x) axis=0 from_end", [](auto const& a) { return cumsum<0>(a, from_end); }, x);
  b.run<Way>("cumsum(m) axis=0", [](auto const& a) { return cumsum<0>(a); }, m);
  b.run<Way>(
      "cumsum(m) axis=1 exclusive from_end",
      [](auto const& a) { return cumsum<1>(a, exclusive, from_end); }, m);
  auto const p = Way::template list<T>(b, "p", draw::near_one);
  auto const q = Way::template matrix<T>(b, "q", draw::near_one);
  b.run<Way>("cumprod(p) axis=0", [](auto const& a) { return cumprod<0>(a); }, p);
  b.run<Way>("cumprod(q) axis=1", [](auto const& a) { return cumprod<1>(a); }, q);
  b.run<Way>(
      "cumprod(q) axis=0 exclusive", [](auto const& a) { return cumprod<0>(a, exclusive); }, q);
  if constexpr (is_real<T>) {
    auto const w = Way::template list<T>(b, "w", draw::wild);
    auto const v = Way::template matrix<T>(b, "v", draw::wild);
    b.run<Way>("cummax(w) axis=0", [](auto const& a) { return cummax<0>(a); }, w);
    b.run<Way>("cummax(v) axis=1", [](auto const& a) { return cummax<1>(a); }, v);
    b.run<Way>("cummin(v) axis=0", [](auto const& a) { return cummin<0>(a); }, v);
    b.run<Way>(
        "cummin(w) axis=0 from_end", [](auto const& a) { return cummin<0>(a, from_end); }, w);
    b.run<Way>(
        "last(x) axis=0", [](auto const& a) { return scan<0>(a, host_device(last_above_one{})); },
        x);
    b.run<Way>(
        "last(m) axis=0 exclusive start=5",
        [](auto const& a) { return scan<0>(a, host_device(last_above_one{}), T(5), exclusive); },
        m);
    b.run<Way>(
        "last_fold(m) axis=0 start=5",
        [](auto const& a) { return reduce<0>(a, host_device(last_above_one{}), T(5)); }, m);
    b.run<Way>(
        "last_fold(m) axis=1 start=5",
        [](auto const& a) { return reduce<1>(a, host_device(last_above_one{}), T(5)); }, m);
  }
}

}  // namespace numpy
