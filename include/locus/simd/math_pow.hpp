// SPDX-License-Identifier: Apache-2.0
// pow of vectors: 2^(y log2 x); floats are computed in double, doubles with a logarithm of twice
// the digits. Rare arguments (simd/math.hpp): bases that are not positive normal numbers, and those
// whose result is near an end of the range.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_POW)
#define LOCUS_SIMD_MATH_POW
#include <locus/simd/math_exp.hpp>      // exp_constants, with_exponent, times_two_to
#include <locus/simd/math_log.hpp>      // log_parts
#include <locus/simd/math_round.hpp>    // vector_trunc
#include <locus/simd/math_twofold.hpp>  // product_of

#define LOCUS_CLONED <locus/simd/math_pow.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: x^y of positive finite x in double, to a relative error of 2^-28; clamped to [2^-200,
///        2^200]
template <class W>
LOCUS_VECTOR_FUNCTION W power_for_floats(W x, W y) {
  auto const parts = log_parts<W>::of(x);
  // minimax of log2((1 + s) / (1 - s)) / s in s^2, and of 2^r; both relative
  W const s = as_written(parts.m - 1) / (parts.m + 1);
  W const log2 =
      multiply_add(polynomial(s * s, 0x1.71547652d85b5p+1, 0x1.ec709b53b80a1p-1,
                              0x1.2778a84dc7f08p-1, 0x1.a512521cfb689p-2, 0x1.64cf37cb5c31cp-2),
                   s, parts.e);
  W const t = held(y * log2, -200, 200);
  auto const n = nearest<W>::of(t);
  W const r = as_written(t - n.n);
  W const p = polynomial(r, 0x1.00000002642ddp+0, 0x1.62e430c80062dp-1, 0x1.ebfbdad4dff16p-3,
                         0x1.c6aed4934bf95p-5, 0x1.3b2dc11102a1ep-7, 0x1.5f45923003c15p-10,
                         0x1.41d03f1a63948p-13);
  return with_exponent(p, n);
}
/// means: log2 x of positive normal x, to a relative error of 2^-64
template <class V>
LOCUS_VECTOR_FUNCTION twofold<V> log2_of(V x) {
  auto const parts = log_parts<V>::of(x);
  // s = f / (f + 2)
  V const f = as_written(parts.m - 1), d = as_written(parts.m + 1),
          d_low = parts.m - as_written(d - 1), over = 1 / d, s = f * over;
  auto const back = product_of(s, d);
  V const rest = as_written(as_written(f - back.high) - back.low);
  V const s_low = multiply_add(-s, d_low, rest) * over;
  // log m = 2 s (1 + z (1/3 + z P(z))) with z = s^2; P: minimax, relative to the term before it
  auto const z = product_of(s, s);
  V const z_low = multiply_add(s + s, s_low, z.low);
  V const p = polynomial(z.high, 0x1.9999999999967p-3, 0x1.2492492498f15p-3, 0x1.c71c71bc4ef0ap-4,
                         0x1.745d1bd14eec1p-4, 0x1.3b12963d46ccap-4, 0x1.113a556a81102p-4,
                         0x1.dac944e942a1fp-5, 0x1.01937cf2864acp-4);
  auto const third = ordered_sum_of(every<V>(0x1.5555555555555p-2), as_written(z.high * p));
  V const third_low = third.low + 0x1.5555555555555p-56;
  auto const g = product_of(z.high, third.high);
  V const g_low = multiply_add(z.high, third_low, multiply_add(z_low, third.high, g.low));
  auto const sg = product_of(s, g.high);
  auto const sum = ordered_sum_of(s, sg.high);
  V const sum_low =
      sum.low + multiply_add(s_low, g.high, multiply_add(s, g_low, as_written(sg.low + s_low)));
  // 2 / ln 2
  auto const l = product_of(sum.high, every<V>(0x1.71547652b82fep+1));
  V const l_low = multiply_add(sum_low, every<V>(0x1.71547652b82fep+1),
                               multiply_add(sum.high, every<V>(0x1.777d0ffda0d24p-55), l.low));
  auto const all = ordered_sum_of(parts.e, l.high);
  return {all.high, all.low + l_low};
}

struct vector_pow {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x, V y) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    if constexpr (sizeof(T) == 4) {
      auto const inf = bits_of_two_to<T>(float_traits<T>::bias + 1);
      auto const odd_base = ((B)x - 1 > inf - 2);
      auto const odd_power = ((B)magnitude(y) > inf - 1);
      return unless_rare<vector_pow>(x, y, of_finite(x, y), (B)(odd_base | odd_power), 0);
    } else {
      auto const least_normal = bits_of_two_to<T>(1 - float_traits<T>::bias);
      auto const odd_base = ((B)x - least_normal > bits_of_two_to<T>(float_traits<T>::bias) - 1);
      auto const [t, t_low] = exponent_of(x, y);
      auto const odd_result = ((B)magnitude(t) > bits_of_two_to<T>(10) - 2 * least_normal);
      auto const e = parts_of(t, t_low);
      return unless_rare<vector_pow>(x, y, with_exponent(e.p + 1, e.n), (B)(odd_base | odd_result),
                                     0);
    }
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y, V) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    V const a = magnitude(x), b = magnitude(y), zero{}, one = every<V>(1),
            inf = every<V>(static_cast<T>(__builtin_inff()));
    V r;
    if constexpr (sizeof(T) == 4)
      r = of_finite(a, y);
    else
      r = of_any_size(a, y);
    auto const whole = vector_trunc::of(y) == y, grows = (a > one) == (y > zero);
    V const half = y * T(0.5);
    auto const odd = whole & (vector_trunc::of(half) != half) & (b < inf);
    r = ((a == zero) | (a == inf) | (b == inf)) ? (grows ? inf : zero) : r;
    r = ((a == one) & (b == inf)) ? one : r;
    r = odd ? (V)((B)r | ((B)x & float_traits<T>::sign)) : r;
    V const nan = every<V>(static_cast<T>(__builtin_nanf("")));
    auto const outside = (x < zero) & (a < inf) & ~whole;
    r = (outside | (x != x) | (y != y)) ? nan : r;
    return ((x == one) | (y == zero)) ? one : r;
  }

 private:
  /// for floats, x > 0
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of_finite(V x, V y) {
    using Half = vector<float, lanes_of<V> / 2>;
    using W = vector<double, lanes_of<V> / 2>;
    Half a[2], b[2], r[2];
    __builtin_memcpy(a, &x, sizeof x);
    __builtin_memcpy(b, &y, sizeof y);
    for (int k = 0; k < 2; ++k)
      r[k] = __builtin_convertvector(
          power_for_floats(__builtin_convertvector(a[k], W), __builtin_convertvector(b[k], W)),
          Half);
    V joined;
    __builtin_memcpy(&joined, r, sizeof joined);
    return joined;
  }
  /// y log2 x
  template <class V>
  LOCUS_VECTOR_FUNCTION static twofold<V> exponent_of(V x, V y) {
    auto const l = log2_of(x);
    auto const t = product_of(y, l.high);
    return {t.high, multiply_add(y, l.low, t.low)};
  }
  /// 2^(t + low) = 2^n (1 + p)
  template <class V>
  LOCUS_VECTOR_FUNCTION static exp_parts<V> parts_of(V t, V low) {
    using C = exp_constants<lane_of<V>>;
    auto const n = nearest<V>::of(t);
    V const r = (as_written(t - n.n) + low) * C::ln2;
    return {n, multiply_add(r * r, C::series(r), r)};
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of_any_size(V x, V y) {
    using T = lane_of<V>;
    using C = exp_constants<T>;
    auto const denormal = (bits_vector<V>)x < bits_of_two_to<T>(1 - float_traits<T>::bias);
    auto l = log2_of(denormal ? x * T(0x1p60) : x);
    auto const shifted = ordered_sum_of(l.high, denormal ? every<V>(-60) : V{});
    // beyond 2^65 every power is 0 or inf, except that of 1
    V const power = held(y, T(-0x1p65), T(0x1p65));
    auto const t = product_of(power, shifted.high);
    V const low = multiply_add(power, shifted.low + l.low, t.low);
    V const within = held(t.high, C::lowest_of_two, C::highest_of_two);
    auto const e = parts_of(within, within == t.high ? low : V{});
    return times_two_to(e.p + 1, e.n);
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
