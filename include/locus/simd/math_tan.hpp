// SPDX-License-Identifier: Apache-2.0
// tan of vectors: x = n pi/2 + r with |r| <= pi/4, q = 2 tan(r / 2) by a polynomial, and
// tan r = q / (1 - q^2 / 4); for odd n the result is -1 / tan r. One division. Rare arguments
// are those of sin.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_TAN)
#define LOCUS_SIMD_MATH_TAN
#include <locus/simd/math_sin.hpp>      // sin_constants, by_library
#include <locus/simd/math_twofold.hpp>  // twofold

#define LOCUS_CLONED <locus/simd/math_tan.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: a - n (second + third)
template <class V>
LOCUS_VECTOR_FUNCTION twofold<V> less(V a, V n, lane_of<V> second, lane_of<V> third) {
  auto const part = product_of(n, every<V>(second));
  V const r = as_written(a - part.high), lost = as_written(a - r) - part.high;
  return {r, multiply_add(n, every<V>(-third), as_written(lost - part.low))};
}

// Coefficients: minimax of (2 tan(r / 2) - r) / r^3 in r^2, relative to 2 tan(r / 2).
template <class T>
struct tan_constants;
template <>
struct tan_constants<float> {
  static constexpr float over_half_pi = 0x1.45f306p-1f;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, 0x1.55553ap-4f, 0x1.111e78p-7f, 0x1.b60fbap-11f, 0x1.a2d2e8p-14f);
  }
  /// means: x - n pi/2. Without FMA in double, where the product of n and a part of pi/2 is exact.
  template <class V>
  LOCUS_VECTOR_FUNCTION static twofold<V> reduced(V x, V n) {
    constexpr float first = 0x1.921fb4p+0f, second = 0x1.4442dp-24f, third = 0x1.846988p-48f;
    if constexpr (LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512) {
      return less(multiply_add(n, every<V>(-first), x), n, second, third);
    } else {
      using Half = vector<float, lanes_of<V> / 2>;
      using W = vector<double, lanes_of<V> / 2>;
      Half from[2], times[2], high[2], low[2];
      __builtin_memcpy(from, &x, sizeof x);
      __builtin_memcpy(times, &n, sizeof n);
      for (int i = 0; i < 2; ++i) {
        W const k = __builtin_convertvector(times[i], W);
        W r = as_written(__builtin_convertvector(from[i], W) - k * double(first));
        r = as_written(as_written(r - k * double(second)) - k * double(third));
        high[i] = __builtin_convertvector(r, Half);
        low[i] = __builtin_convertvector(r - __builtin_convertvector(high[i], W), Half);
      }
      twofold<V> both;
      __builtin_memcpy(&both.high, high, sizeof high);
      __builtin_memcpy(&both.low, low, sizeof low);
      return both;
    }
  }
};
template <>
struct tan_constants<double> {
  static constexpr double over_half_pi = 0x1.45f306dc9c883p-1;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, 0x1.5555555555574p-4, 0x1.111111110d2ep-7, 0x1.ba1ba1bf873a9p-11,
                      0x1.664f46a94790fp-14, 0x1.226e908a4109p-17, 0x1.d6beaff9a0781p-21,
                      0x1.7f2320708a1b7p-24, 0x1.25230afe0a043p-27, 0x1.58b5ab920865ap-30);
  }
  /// means: x - n pi/2. Without FMA the parts have so few digits that n times one is exact for n <
  ///        2^20.
  template <class V>
  LOCUS_VECTOR_FUNCTION static twofold<V> reduced(V x, V n) {
    if constexpr (LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512) {
      constexpr double first = 0x1.921fb54442d18p+0, second = 0x1.1a62633145c06p-54,
                       third = 0x1.c1cd129024e08p-107;
      return less(multiply_add(n, every<V>(-first), x), n, second, third);
    } else {
      V const a = as_written(x - n * 0x1.921fb544p+0);
      auto const [b, lost_first] = ordered_difference(a, n * 0x1.0b4611a6p-34);
      auto const [r, lost_second] = ordered_difference(b, n * 0x1.3198a2ep-69);
      return {r, lost_first + (lost_second - n * 0x1.b839a252049c1p-104)};
    }
  }

 private:
  template <class V>
  LOCUS_VECTOR_FUNCTION static twofold<V> ordered_difference(V a, V b) {
    V const r = as_written(a - b);
    return {r, as_written(a - r) - b};
  }
};

struct vector_tan {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    using C = tan_constants<T>;
    auto const n = nearest<V>::of(x, C::over_half_pi);
    auto const [r, low] = C::reduced(x, n.n);
    V const s = r * r, q = r + multiply_add(r * s, C::series(s), low);
    V const d = multiply_add(q * T(-0.25), q, every<V>(1));
    B const sign = n.bits << (8 * sizeof(T) - 1);
    auto const odd = sign != 0;
    V const y = (odd ? d : q) / (V)((B)(odd ? q : d) ^ sign);
    return unless_rare<vector_tan>(x, x == 0 ? x : y, (B)magnitude(x), sin_constants<T>::limit);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    return by_library(x, y, [](auto v) {
      if constexpr (sizeof v == 4)
        return LOCUS_MATH(tanf)(v);
      else
        return LOCUS_MATH(tan)(v);
    });
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
