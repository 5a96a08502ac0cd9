// SPDX-License-Identifier: Apache-2.0
// The vector functions beside a wider libm: units in the last place that they miss by.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <locus/simd/math_asin.hpp>
#include <locus/simd/math_asinh.hpp>
#include <locus/simd/math_atan.hpp>
#include <locus/simd/math_cbrt.hpp>
#include <locus/simd/math_erf.hpp>
#include <locus/simd/math_exp.hpp>
#include <locus/simd/math_hypot.hpp>
#include <locus/simd/math_log.hpp>
#include <locus/simd/math_pow.hpp>
#include <locus/simd/math_round.hpp>
#include <locus/simd/math_sin.hpp>
#include <locus/simd/math_sinh.hpp>
#include <locus/simd/math_tan.hpp>

namespace accuracy {

template <class T>
using wider = std::conditional_t<sizeof(T) == 4, double, long double>;

/// what one lane is off by, in units in the last place of the right result; inf for a wrong kind
template <class T>
double units(T got, wider<T> right) {
  using traits = locus::simd::float_traits<T>;
  using wide = wider<T>;
  auto const fits = static_cast<T>(right);
  if (std::memcmp(&got, &fits, sizeof got) == 0 || (right != right && got != got)) return 0;
  if (right != right || got != got || std::isinf(right)) return HUGE_VAL;
  int exponent = 0;
  std::frexp(right, &exponent);
  int const least = 1 - traits::bias - traits::digits;
  exponent = right == 0 ? least : std::max(exponent - 1 - traits::digits, least);
  if (std::isinf(got)) return std::isinf(fits) ? 0 : HUGE_VAL;
  if (right == 0) return HUGE_VAL;  // another zero, or none
  wide const off = std::fabs(static_cast<wide>(got) - right);
  return static_cast<double>(std::ldexp(off, -exponent));
}

template <class T>
struct worst {
  double units = 0;
  T at = 0, and_at = 0;
};
template <class F, class T>
constexpr int lanes = locus::simd::native_bytes / int(sizeof(T));

/// means: the worst lane of F over the numbers that next() gives, `count` registers of them
template <class F, class T, class Next>
worst<T> worst_of(long count, wider<T> (*right)(wider<T>), Next next) {
  constexpr int n = lanes<F, T>;
  worst<T> w;
  for (long k = 0; k < count; ++k) {
    T in[n], out[n];
    for (T& x : in) x = next();
    locus::simd::store(out, locus::simd::by_registers<F>(locus::simd::load<n>(in)));
    for (int i = 0; i < n; ++i)
      if (double const u = units<T>(out[i], right(static_cast<wider<T>>(in[i]))); u > w.units)
        w = {u, in[i]};
  }
  return w;
}
/// every `step`-th float of all, from `first` on
template <class F>
worst<float> over_floats(double (*right)(double), std::uint64_t step, std::uint64_t first = 0) {
  std::uint64_t at = first;
  long const registers = static_cast<long>((std::uint64_t(1) << 32) / step / lanes<F, float>);
  return worst_of<F, float>(registers, right, [&] {
    auto const x = __builtin_bit_cast(float, static_cast<std::uint32_t>(at));
    at += step;
    return x;
  });
}
/// doubles of all exponents, and as many in [-range, range]
template <class F>
worst<double> over_doubles(long double (*right)(long double), long count, double range) {
  std::uint64_t state = 88172645463325252u;
  long turn = 0;
  return worst_of<F, double>(count / lanes<F, double>, right, [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    if (++turn % 2 == 0) return __builtin_bit_cast(double, state);
    return range * (static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63);
  });
}

/// means: the worst lane of F over `count` pairs that next(x, y) gives
template <class F, class T, class Next>
worst<T> worst_of_pairs(long count, wider<T> (*right)(wider<T>, wider<T>), Next next) {
  constexpr int n = lanes<F, T>;
  worst<T> w;
  for (long k = 0; k < count / n; ++k) {
    T x[n], y[n], out[n];
    for (int i = 0; i < n; ++i) next(x[i], y[i]);
    locus::simd::store(
        out, locus::simd::by_registers<F>(locus::simd::load<n>(x), locus::simd::load<n>(y)));
    for (int i = 0; i < n; ++i)
      if (double const u =
              units<T>(out[i], right(static_cast<wider<T>>(x[i]), static_cast<wider<T>>(y[i])));
          u > w.units)
        w = {u, x[i], y[i]};
  }
  return w;
}
/// pairs of all exponents, pairs in [-range, range], pairs of one exponent, and positive numbers near
/// one with an exponent that makes most of them
template <class F, class T>
worst<T> over_pairs(wider<T> (*right)(wider<T>, wider<T>), long count, double range) {
  std::uint64_t state = 88172645463325252u;
  auto const bits = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  auto const number = [&] {
    return static_cast<double>(static_cast<std::int64_t>(bits())) * 0x1p-63;
  };
  long turn = 0;
  return worst_of_pairs<F, T>(count, right, [&](T& x, T& y) {
    using B = typename locus::simd::float_traits<T>::bits;
    int const most = locus::simd::float_traits<T>::bias;
    if (++turn % 4 == 0)
      x = __builtin_bit_cast(T, B(bits())), y = __builtin_bit_cast(T, B(bits()));
    else if (turn % 4 == 1)
      x = static_cast<T>(range * number()), y = static_cast<T>(range * number());
    else if (turn % 4 == 2) {
      int const e = static_cast<int>(bits() % std::uint64_t(2 * most)) - most;
      x = static_cast<T>(std::ldexp(number(), e)), y = static_cast<T>(std::ldexp(number(), e));
    } else {
      double const off = std::ldexp(number(), -static_cast<int>(bits() % 20) - 1);
      x = static_cast<T>(1 + off), y = static_cast<T>(0.7 * most * number() / off);
    }
  });
}

// Name, range of every other argument, units that it may be off by: 2.5, but for erfc 3.5 (glibc's is
// 5 off).
#define ACCURACY_FUNCTIONS(row)                                                                   \
  row(exp, 30, 2.5) row(exp2, 30, 2.5) row(expm1, 2, 2.5) row(tanh, 2, 2.5) row(sigmoid, 30, 2.5) \
      row(log, 2, 2.5) row(log2, 2, 2.5) row(log10, 2, 2.5) row(log1p, 2, 2.5) row(sin, 30, 2.5)  \
          row(cos, 30, 2.5) row(tan, 30, 2.5) row(asin, 1, 2.5) row(acos, 1, 2.5)                 \
              row(atan, 4, 2.5) row(sinh, 3, 2.5) row(cosh, 3, 2.5) row(asinh, 3, 2.5)            \
                  row(acosh, 3, 2.5) row(atanh, 1, 2.5) row(erf, 6, 2.5) row(erfc, 28, 3.5)       \
                      row(cbrt, 9, 2.5)
#define ACCURACY_FUNCTIONS_OF_TWO(row) row(atan2, 3, 2.5) row(hypot, 3, 2.5) row(pow, 30, 2.5)

namespace wide {
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt,
    std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::hypot, std::log,
    std::log10, std::log1p, std::log2, std::pow, std::sin, std::sinh, std::tan, std::tanh;
template <class T>
T sigmoid(T x) {
  return x < -20 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
}  // namespace wide
template <class T>
struct right {
#define ACCURACY_RIGHT(name, range, allowed) \
  static T of_##name(T x) { return wide::name(x); }
#define ACCURACY_RIGHT_OF_TWO(name, range, allowed) \
  static T of_##name(T x, T y) { return wide::name(x, y); }
  ACCURACY_FUNCTIONS(ACCURACY_RIGHT)
  ACCURACY_FUNCTIONS_OF_TWO(ACCURACY_RIGHT_OF_TWO)
#undef ACCURACY_RIGHT
#undef ACCURACY_RIGHT_OF_TWO
};

}  // namespace accuracy
