// SPDX-License-Identifier: Apache-2.0
// sin and cos of vectors: x = n pi + r with |r| <= pi / 2, n an integer for sin and half an odd
// number for cos, and an odd polynomial of r. Rare arguments go to the C library, lane by lane:
// inf, NaN, and numbers too large for a pi in parts.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_SIN)
#define LOCUS_SIMD_MATH_SIN
#include <locus/core/macros.hpp>  // LOCUS_MATH
#include <locus/simd/math.hpp>    // polynomial, unless_rare

#define LOCUS_CLONED <locus/simd/math_sin.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// pi in parts, all of one sign so that -0 stays -0. Coefficients: minimax of (sin r - r) / r^3 in
// r^2, relative to sin r.
template <class T>
struct sin_constants;
template <>
struct sin_constants<float> {
  static constexpr float over_pi = 0x1.45f306p-2f;
  static constexpr std::uint32_t limit = 0x48000000;  // 2^17
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, -0x1.55554ap-3f, 0x1.110e86p-7f, -0x1.9f612cp-13f, 0x1.5ce4f8p-19f);
  }
  /// means: x - n pi, with pi in three parts. The product of n and a part is exact: inside fma, or
  ///        in double where there is no FMA.
  template <class V>
  LOCUS_VECTOR_FUNCTION static V reduced(V x, V n) {
    return less(less(less(x, n, 0x1.921fb4p+1f), n, 0x1.4442dp-23f), n, 0x1.846988p-47f);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V less(V x, V n, float part) {
    if constexpr (LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512)
      return multiply_add(n, every<V>(-part), x);
    else {
      using W = vector<double, lanes_of<V>>;
      return as_written(__builtin_convertvector(
          __builtin_convertvector(x, W) - __builtin_convertvector(n, W) * double(part), V));
    }
  }
};
template <>
struct sin_constants<double> {
  static constexpr double over_pi = 0x1.45f306dc9c883p-2;
  static constexpr bool has_fma = LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512;
  static constexpr std::uint64_t limit = has_fma ? 0x4270000000000000 : 0x4130000000000000;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, -0x1.5555555555555p-3, 0x1.11111111110c8p-7, -0x1.a01a01a014d6ep-13,
                      0x1.71de3a52a0a15p-19, -0x1.ae6454d4681c4p-26, 0x1.6123cd02cc5f3p-33,
                      -0x1.ae4382e43eap-41, 0x1.88327303282bap-49);
  }
  /// means: x - n pi, with pi in parts. The product of n and a part is exact: inside fma, or, where
  ///        there is no FMA, because the parts have so few digits, for n below 2^20.
  template <class V>
  LOCUS_VECTOR_FUNCTION static V reduced(V x, V n) {
    if constexpr (has_fma)
      return less(less(less(x, n, 0x1.921fb54442d18p+1), n, 0x1.1a62633145c06p-53), n,
                  0x1.c1cd129024e08p-106);
    else
      return less(less(less(less(x, n, 0x1.921fb544p+1), n, 0x1.0b4611a6p-33), n, 0x1.3198a2ep-68),
                  n, 0x1.b839a252049c1p-103);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V less(V x, V n, double part) {
    return as_written(multiply_add(n, every<V>(-part), x));
  }
};

/// means: (-1)^n sin(x - a pi); n is the lowest digit of `digits`, a the nearest multiple
template <class V>
LOCUS_VECTOR_FUNCTION V sine(V x, V a, bits_vector<V> digits) {
  using T = lane_of<V>;
  using C = sin_constants<T>;
  V const r = C::reduced(x, a), s = r * r;
  V const p = multiply_add(C::series(s), s, V{});  // + 0: never -0, so that -0 stays -0
  V const y = held(multiply_add(p, r, r), -1, 1);  // rounding may exceed 1
  return (V)((bits_vector<V>)y ^ (digits << (8 * sizeof(T) - 1)));
}
/// means: y, and f(x) in lanes where x is too large
template <class V, class F>
LOCUS_VECTOR_FUNCTION V by_library(V x, V y, F f) {
  auto const key = (bits_vector<V>)magnitude(x);
  for (int i = 0; i < lanes_of<V>; ++i)
    if (key[i] > sin_constants<lane_of<V>>::limit) y[i] = f(lane_of<V>(x[i]));
  return y;
}
struct vector_sin {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using C = sin_constants<lane_of<V>>;
    auto const n = nearest<V>::of(x, C::over_pi);
    return unless_rare<vector_sin>(x, sine(x, n.n, n.bits), (bits_vector<V>)magnitude(x), C::limit);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    return by_library(x, y, [](auto v) {
      if constexpr (sizeof v == 4)
        return LOCUS_MATH(sinf)(v);
      else
        return LOCUS_MATH(sin)(v);
    });
  }
};
struct vector_cos {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using C = sin_constants<T>;
    auto const n = nearest<V>::of(multiply_add(x, every<V>(C::over_pi), every<V>(T(0.5))));
    return unless_rare<vector_cos>(x, sine(x, as_written(n.n - T(0.5)), n.bits),
                                   (bits_vector<V>)magnitude(x), C::limit);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    return by_library(x, y, [](auto v) {
      if constexpr (sizeof v == 4)
        return LOCUS_MATH(cosf)(v);
      else
        return LOCUS_MATH(cos)(v);
    });
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
