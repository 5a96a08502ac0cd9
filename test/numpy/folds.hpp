// SPDX-License-Identifier: Apache-2.0
// Folds over all axes and along one, statistics, products of vectors and matrices.
#pragma once
#include <locus/algorithms/argmin.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/statistics.hpp>
#include <locus/ops/vectors.hpp>

#include "archive.hpp"

namespace numpy {

template <class T, class Way>
void folds(archive& b) {
  auto const x = Way::template list<T>(b, "x"), y = Way::template list<T>(b, "y");
  auto const m = Way::template matrix<T>(b, "m");
  b.run<Way>("sum(x)", [](auto const& a) { return sum(a); }, x);
  b.run<Way>("sum(m)", [](auto const& a) { return sum(a); }, m);
  b.run<Way>("sum(m) axis=0", [](auto const& a) { return sum<0>(a); }, m);
  b.run<Way>("sum(m) axis=1", [](auto const& a) { return sum<1>(a); }, m);
  b.run<Way>("sum(m) axis=0 keepdims", [](auto const& a) { return sum<0>(a, keep_dims); }, m);
  auto const p = Way::template list<T>(b, "p", draw::near_one);
  auto const q = Way::template matrix<T>(b, "q", draw::near_one);
  b.run<Way>("prod(p)", [](auto const& a) { return prod(a); }, p);
  b.run<Way>("prod(q) axis=1", [](auto const& a) { return prod<1>(a); }, q);
  if constexpr (is_boolean<T>) {
    b.run<Way>("any(m) axis=1", [](auto const& a) { return any<1>(a); }, m);
    b.run<Way>("any(x)", [](auto const& a) { return any(a); }, x);
    b.run<Way>("all(m) axis=0", [](auto const& a) { return all<0>(a); }, m);
    b.run<Way>("all(x)", [](auto const& a) { return all(a); }, x);
  } else {
    b.run<Way>("dot(x,y)", [](auto const& a, auto const& c) { return dot(a, c); }, x, y);
    auto const few = Way::template few<7, T>("few");
    b.run<Way>("outer(x,few)", [](auto const& a, auto const& c) { return outer(a, c); }, x, few);
    if constexpr (is_floating_v<T> || is_complex_v<T>) {
      b.run<Way>(
          "einsum(m,m) letters=ij,ik->jk", [](auto const& a) { return einsum<"ij,ik->jk">(a, a); },
          m);
      b.run<Way>(
          "einsum(x,m) letters=i,ij->j",
          [](auto const& a, auto const& c) { return einsum<"i,ij->j">(a, c); }, x, m);
      b.run<Way>("norm(x)", [](auto const& a) { return norm(a); }, x);
      b.run<Way>("norm(m) axis=1", [](auto const& a) { return norm<1>(a); }, m);
      b.run<Way>("mean(x)", [](auto const& a) { return mean(a); }, x);
      b.run<Way>("mean(m) axis=1", [](auto const& a) { return mean<1>(a); }, m);
    }
    if constexpr (is_floating_v<T>) {
      b.run<Way>("var(x)", [](auto const& a) { return var(a); }, x);
      b.run<Way>("var(m) axis=0", [](auto const& a) { return var<0>(a); }, m);
      b.run<Way>("var(m) axis=1 ddof=1", [](auto const& a) { return var<1>(a, ddof{1}); }, m);
      b.run<Way>("std(x) ddof=1", [](auto const& a) { return standard_deviation(a, ddof{1}); }, x);
    }
  }
  if constexpr (is_real<T>) {
    auto const w = Way::template list<T>(b, "w", draw::wild);
    auto const v = Way::template matrix<T>(b, "v", draw::wild);
    b.run<Way>("max(v) axis=1", [](auto const& a) { return max<1>(a); }, v);
    if (b.rows() > 0)  // of no elements they are errors, as in NumPy
      if constexpr (Way::known != 0) {
        b.run<Way>("max(w)", [](auto const& a) { return max(a); }, w);
        b.run<Way>("min(w)", [](auto const& a) { return min(a); }, w);
        b.run<Way>("min(v) axis=0", [](auto const& a) { return min<0>(a); }, v);
        b.run<Way>("argmax(w) axis=0", [](auto const& a) { return argmax<0>(a); }, w);
        b.run<Way>("argmin(v) axis=0", [](auto const& a) { return argmin<0>(a); }, v);
      }
    b.run<Way>("argmax(v) axis=1", [](auto const& a) { return argmax<1>(a); }, v);
    b.run<Way>("argmin(v) axis=1", [](auto const& a) { return argmin<1>(a); }, v);
  }
}

}  // namespace numpy
