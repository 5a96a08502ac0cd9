// SPDX-License-Identifier: Apache-2.0
// atan and atan2 of vectors: k pi/4 + atan(q) with |q| <= 1/2, an odd polynomial of q. q is y / x,
// (y - x) / (y + x) or -x / y of the magnitudes, so there is one division.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_ATAN)
#define LOCUS_SIMD_MATH_ATAN
#include <locus/simd/math.hpp>  // polynomial, unless_rare

#define LOCUS_CLONED <locus/simd/math_atan.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// pi/4 in two parts; the first has so few digits that 3 times it is exact. Coefficients: minimax of
// (atan q - q) / q^3 in q^2, relative to atan q.
template <class T>
struct atan_constants;
template <>
struct atan_constants<float> {
  static constexpr float quarter_pi = 0x1.921fbp-1f, quarter_pi_low = 0x1.5110b4p-23f;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, -0x1.555512p-2f, 0x1.997b06p-3f, -0x1.2249b2p-3f, 0x1.9ffb92p-4f,
                      -0x1.a3da6ap-5f);
  }
};
template <>
struct atan_constants<double> {
  static constexpr double quarter_pi = 0x1.921fb54442dp-1, quarter_pi_low = 0x1.8469898cc517p-49;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V s) {
    return polynomial(s, -0x1.5555555555516p-2, 0x1.999999999113ap-3, -0x1.249249215db13p-3,
                      0x1.c71c7090d87cfp-4, -0x1.745cf4c9bf5d2p-4, 0x1.3b113dac4996ep-4,
                      -0x1.10f31e5a8dccep-4, 0x1.dfe96e5e6c171p-5, -0x1.a3983e903f9b9p-5,
                      0x1.56f55d04d865bp-5, -0x1.c17e8fae8098ap-6, 0x1.4b825bff6e68cp-7);
  }
};

/// means: the angle of (x, y) in [0, pi], for y >= 0 and |x| = a; x is negative where `turn` has
///        the sign bit
template <class V>
LOCUS_VECTOR_FUNCTION V angle_of(V y, V a, bits_vector<V> turn) {
  using T = lane_of<V>;
  using B = bits_vector<V>;
  using C = atan_constants<T>;
  auto const flat = y + y < a, middle = y < a + a;
  V const top = flat ? y : middle ? y - a : -a, bottom = flat ? a : middle ? y + a : y;
  V const eighths = flat ? V{} : middle ? every<V>(1) : every<V>(2);
  V const k = (turn != 0) ? 4 - eighths : eighths;
  V const q = top / bottom, s = q * q;
  V const r = (V)((B)multiply_add(q * s, C::series(s), q) ^ turn);
  return multiply_add(k, every<V>(C::quarter_pi), multiply_add(k, every<V>(C::quarter_pi_low), r));
}

struct vector_atan {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    return with_sign_of(x, angle_of(magnitude(x), every<V>(1), bits_vector<V>{}));
  }
};
struct vector_atan2 {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V y, V x) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    B const b = (B)magnitude(y), a = (B)magnitude(x), larger = b > a ? b : a;
    return unless_rare<vector_atan2>(y, x, signed_angle(y, x, (V)b, (V)a), larger - 1,
                                     bits_of_two_to<T>(float_traits<T>::bias - 1));
  }
  /// both are zero, or one is large, infinite or NaN
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V y, V x, V r) {
    using T = lane_of<V>;
    V const inf = every<V>(static_cast<T>(__builtin_inff())), one = every<V>(1);
    V b = magnitude(y), a = magnitude(x);
    auto const zeros = ((a == 0) & (b == 0)), infinite = ((a == inf) | (b == inf)),
               large = ((a > one) | (b > one));
    V const by = large ? every<V>(T(0.25)) : one;
    b = infinite ? (b == inf ? one : V{}) : b * by;
    a = zeros ? one : infinite ? (a == inf ? one : V{}) : a * by;
    V const larger = magnitude(a > b ? a : b);
    r = (zeros | infinite | (larger > every<V>(T(0x1p60)))) ? signed_angle(y, x, b, a) : r;
    return ((y == y) & (x == x)) ? r : y + x;
  }

 private:
  template <class V>
  LOCUS_VECTOR_FUNCTION static V signed_angle(V y, V x, V b, V a) {
    using B = bits_vector<V>;
    return with_sign_of(y, angle_of(b, a, (B)x & float_traits<lane_of<V>>::sign));
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
