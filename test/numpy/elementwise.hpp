// SPDX-License-Identifier: Apache-2.0
// Operations of elements that NumPy has by the same name or a like one.
#pragma once
#include <locus/ops/special_functions.hpp>

#include "archive.hpp"

namespace numpy {

template <class T, class Way>
void elementwise(archive& b) {
  auto const x = Way::template list<T>(b, "x"), y = Way::template list<T>(b, "y");
  b.run<Way>("equal(x,y)", [](auto const& a, auto const& c) { return a == c; }, x, y);
  if constexpr (is_boolean<T>) {
    b.run<Way>("logical_and(x,y)", [](auto const& a, auto const& c) { return a && c; }, x, y);
    b.run<Way>("logical_or(x,y)", [](auto const& a, auto const& c) { return a || c; }, x, y);
    b.run<Way>("logical_not(x)", [](auto const& a) { return !a; }, x);
    b.run<Way>("bitwise_xor(x,y)", [](auto const& a, auto const& c) { return a ^ c; }, x, y);
  } else {
    b.run<Way>("add(x,y)", [](auto const& a, auto const& c) { return a + c; }, x, y);
    b.run<Way>("subtract(x,y)", [](auto const& a, auto const& c) { return a - c; }, x, y);
    b.run<Way>("multiply(x,y)", [](auto const& a, auto const& c) { return a * c; }, x, y);
    b.run<Way>("negative(x)", [](auto const& a) { return -a; }, x);
    b.run<Way>("square(x)", [](auto const& a) { return square(a); }, x);
    b.run<Way>("abs(x)", [](auto const& a) { return abs(a); }, x);
    b.run<Way>(
        "true_divide(x,y)", [](auto const& a, auto const& c) { return true_div(a, c); }, x, y);
  }
  if constexpr (is_real<T>) {
    auto const w = Way::template list<T>(b, "w", draw::wild);
    b.run<Way>("less(w,y)", [](auto const& a, auto const& c) { return a < c; }, w, y);
    b.run<Way>("greater_equal(w,y)", [](auto const& a, auto const& c) { return a >= c; }, w, y);
    b.run<Way>("maximum(w,y)", [](auto const& a, auto const& c) { return maximum(a, c); }, w, y);
    b.run<Way>("minimum(w,y)", [](auto const& a, auto const& c) { return minimum(a, c); }, w, y);
    b.run<Way>("sign(w)", [](auto const& a) { return sign(a); }, w);
    b.run<Way>("clip(x) low=2 high=5", [](auto const& a) { return clamp(a, T(2), T(5)); }, x);
    b.run<Way>(
        "floor_divide(x,y)", [](auto const& a, auto const& c) { return floor_div(a, c); }, x, y);
    b.run<Way>("mod(x,y)", [](auto const& a, auto const& c) { return floor_mod(a, c); }, x, y);
    b.run<Way>("fmod(x,y)", [](auto const& a, auto const& c) { return fmod(a, c); }, x, y);
  }
  if constexpr (is_integer_v<T>) {
    auto const w = Way::template list<T>(b, "w", draw::wild);
    b.run<Way>("fmod(w,y) symbol", [](auto const& a, auto const& c) { return a % c; }, w, y);
    b.run<Way>("bitwise_and(w,y)", [](auto const& a, auto const& c) { return a & c; }, w, y);
    b.run<Way>("bitwise_or(w,y)", [](auto const& a, auto const& c) { return a | c; }, w, y);
    b.run<Way>("bitwise_xor(w,y)", [](auto const& a, auto const& c) { return a ^ c; }, w, y);
    b.run<Way>("invert(w)", [](auto const& a) { return ~a; }, w);
    b.run<Way>(
        "left_shift(w,p)", [](auto const& a, auto const& c) { return a << abs(c); }, w,
        Way::template list<T>(b, "p", draw::near_one));
    b.run<Way>(
        "right_shift(w,p)", [](auto const& a, auto const& c) { return a >> abs(c); }, w,
        Way::template list<T>(b, "p", draw::near_one));
  }
  if constexpr (is_floating_v<T>) {
    b.run<Way>("copysign(x,y)", [](auto const& a, auto const& c) { return copysign(a, c); }, x, y);
    b.run<Way>("exp(x)", [](auto const& a) { return exp(a); }, x);
    b.run<Way>("log(x) of_abs", [](auto const& a) { return log(abs(a)); }, x);
    b.run<Way>("sqrt(x) of_abs", [](auto const& a) { return sqrt(abs(a)); }, x);
    b.run<Way>("sin(x)", [](auto const& a) { return sin(a); }, x);
    b.run<Way>("tanh(x)", [](auto const& a) { return tanh(a); }, x);
    b.run<Way>("floor(x)", [](auto const& a) { return floor(a); }, x);
    b.run<Way>("lgamma(x) of_abs", [](auto const& a) { return lgamma(abs(a)); }, x);
    b.run<Way>("digamma(x) of_abs", [](auto const& a) { return digamma(abs(a)); }, x);
  }
}

}  // namespace numpy
