// SPDX-License-Identifier: Apache-2.0
// exp, exp2, expm1, tanh and sigmoid of vectors: x = n ln2 + r with |r| <= ln2 / 2, a polynomial
// of r, and a scaling by 2^n. At most 2.5 ulp for every argument (bench/accuracy.cpp measures it).
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_EXP)
#define LOCUS_SIMD_MATH_EXP
#include <locus/simd/math.hpp>  // polynomial, nearest

#define LOCUS_CLONED <locus/simd/math_exp.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// ln2 in two parts; the first has so few digits that n times it is exact. Coefficients: weighted
// minimax of (e^r - 1 - r) / r^2, rounded one after the other.
template <class T>
struct exp_constants;
template <>
struct exp_constants<float> {
  static constexpr float log2e = 0x1.715476p+0f, ln2 = 0x1.62e43p-1f, ln2_high = 0x1.62e4p-1f,
                         ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest = -104, highest = 89, tanh_is_one = 10, expm1_is_minus_one = -18,
                         lowest_of_two = -151, highest_of_two = 129;
  static constexpr std::uint32_t normal = 0x42ae0000, normal_of_two = 0x42fc0000;  // 87, 126
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V r) {
    return polynomial(r, 0x1p-1f, 0x1.5554bcp-3f, 0x1.5556acp-5f, 0x1.122084p-7f, 0x1.6b3834p-10f);
  }
};
template <>
struct exp_constants<double> {
  static constexpr double log2e = 0x1.71547652b82fep+0, ln2 = 0x1.62e42fefa39efp-1,
                          ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double lowest = -746, highest = 710, tanh_is_one = 20, expm1_is_minus_one = -38,
                          lowest_of_two = -1077, highest_of_two = 1025;
  static constexpr std::uint64_t normal = 0x4086200000000000,  // 708
      normal_of_two = 0x408ff00000000000;                      // 1022
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V r) {
    return polynomial(r, 0x1p-1, 0x1.555555555551cp-3, 0x1.555555555397p-5, 0x1.11111111239c9p-7,
                      0x1.6c16c17a7c51cp-10, 0x1.a01a012df54acp-13, 0x1.a019b22018cc7p-16,
                      0x1.71df3e9dbeacp-19, 0x1.2898d44e4696ap-22, 0x1.ad2c8ec18cbeep-26);
  }
};

/// means: e^x = 2^n (1 + p), for x between `lowest` and `highest`; Exactly: p includes the rounding
///        error of r, for functions that subtract 1
template <class V, bool Exactly = false>
struct exp_parts {
  nearest<V> n;
  V p;
  LOCUS_VECTOR_FUNCTION static exp_parts of(V x) {
    using C = exp_constants<lane_of<V>>;
    auto const n = nearest<V>::of(x, C::log2e);
    V const high = as_written(multiply_add(n.n, every<V>(-C::ln2_high), x)),
            low = every<V>(-C::ln2_low);
    V const r = as_written(multiply_add(n.n, low, high));
    if constexpr (Exactly) {
      V const lost = multiply_add(n.n, low, as_written(high - r));
      return {n, r + as_written(multiply_add(r * r, C::series(r), lost))};
    } else
      return {n, multiply_add(r * r, C::series(r), r)};
  }
};
/// means: x 2^n, if the result is a normal number
template <class V>
LOCUS_VECTOR_FUNCTION V with_exponent(V x, nearest<V> n) {
  return (V)((bits_vector<V>)x + (n.bits << float_traits<lane_of<V>>::digits));
}
/// means: x 2^n in two steps of n / 2, so that 2^n may exceed the range of exponents
template <class V>
LOCUS_VECTOR_FUNCTION V times_two_to(V x, nearest<V> n) {
  if constexpr (has_scaled<V>)
    return scaled(x, n.n);
  else {
    using traits = float_traits<lane_of<V>>;
    using B = bits_vector<V>;
    B const twice = n.bits - (traits::magic_bits - 2 * traits::bias), first = twice >> 1;
    return x * (V)(first << traits::digits) * (V)((twice - first) << traits::digits);
  }
}
/// means: 2^(n + Shift), if that is a normal number
template <int Shift, class V>
LOCUS_VECTOR_FUNCTION V two_to(nearest<V> n) {
  using traits = float_traits<lane_of<V>>;
  return (V)((n.bits + (traits::bias + Shift)) << traits::digits);
}

struct vector_exp {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    if constexpr (has_scaled<V>) return rare(x, x);
    auto const e = exp_parts<V>::of(x);
    return unless_rare<vector_exp>(x, with_exponent(e.p + 1, e.n), (bits_vector<V>)magnitude(x),
                                   exp_constants<lane_of<V>>::normal);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V) {
    using C = exp_constants<lane_of<V>>;
    auto const e = exp_parts<V>::of(held(x, C::lowest, C::highest));
    return times_two_to(e.p + 1, e.n);
  }
};
struct vector_exp2 {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    if constexpr (has_scaled<V>) return rare(x, x);
    auto const e = parts(x);
    return unless_rare<vector_exp2>(x, with_exponent(e.p + 1, e.n), (bits_vector<V>)magnitude(x),
                                    exp_constants<lane_of<V>>::normal_of_two);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V) {
    using C = exp_constants<lane_of<V>>;
    auto const e = parts(held(x, C::lowest_of_two, C::highest_of_two));
    return times_two_to(e.p + 1, e.n);
  }

 private:
  template <class V>
  LOCUS_VECTOR_FUNCTION static exp_parts<V> parts(V x) {
    using C = exp_constants<lane_of<V>>;
    auto const n = nearest<V>::of(x);
    V const r = as_written(x - n.n) * C::ln2;
    return {n, multiply_add(r * r, C::series(r), r)};
  }
};
struct vector_expm1 {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using C = exp_constants<T>;
    auto const e = exp_parts<V, true>::of(held(x, C::expm1_is_minus_one, C::highest));
    V const half = two_to<-1>(e.n);  // 2^n may overflow where e^x does not
    V const r = multiply_add(half, e.p, half - T(0.5)) * T(2);
    return magnitude(x) < T(0x1p-60) ? x : r;
  }
};
/// means: u / (u + 1) for u >= 0; below 1/2 as u - u q, where the rounding errors of q matter less
template <class V>
LOCUS_VECTOR_FUNCTION V part_of_one_more(V u) {
  V const q = u / (u + 1);
  return u < lane_of<V>(0.5) ? multiply_add(-u, q, u) : q;
}
/// u / (u + 1) with u = (e^(2|x|) - 1) / 2
struct vector_tanh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = least(every<V>(exp_constants<T>::tanh_is_one), magnitude(x));
    auto const e = exp_parts<V, true>::of(a + a);
    V const half = two_to<-1>(e.n);
    return with_sign_of(x, part_of_one_more(multiply_add(half, e.p, half - T(0.5))));
  }
};
/// e / (e + 1) with e = e^-|x|, which neither overflows nor loses small results; 1 minus that for x
/// >= 0
struct vector_sigmoid {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    V const lower = part_of_one_more(vector_exp::of(-magnitude(x)));
    return x < 0 ? lower : 1 - lower;
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
