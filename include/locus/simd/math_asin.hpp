// SPDX-License-Identifier: Apache-2.0
// asin and acos of vectors: an odd polynomial of s = |x| up to 1/2, and beyond of s = sqrt((1 -
// |x|) / 2), where asin |x| = pi/2 - 2 asin s.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_ASIN)
#define LOCUS_SIMD_MATH_ASIN
#include <locus/simd/math.hpp>  // polynomial

#define LOCUS_CLONED <locus/simd/math_asin.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// pi/2 in two parts. Coefficients: minimax of (asin s - s) / s^3 in s^2, relative to asin s.
template <class T>
struct asin_constants;
template <>
struct asin_constants<float> {
  static constexpr float half_pi = 0x1.921fb6p+0f, half_pi_low = -0x1.777a5cp-25f;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V z) {
    return polynomial(z, 0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e54p-6f,
                      0x1.595c58p-5f);
  }
};
template <>
struct asin_constants<double> {
  static constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V z) {
    return polynomial(z, 0x1.555555555539p-3, 0x1.333333336e831p-4, 0x1.6db6db427834dp-5,
                      0x1.f1c72c39d1ac5p-6, 0x1.6e89f42912e0ep-6, 0x1.1c6be32619b0dp-6,
                      0x1.c6fda1abf9d75p-7, 0x1.8ec3dc86e864dp-7, 0x1.abc76176c47c7p-8,
                      0x1.3ffa61ee10b9p-6, -0x1.09dc81a0f0ea3p-6, 0x1.0570bf179189fp-5);
  }
};
/// means: s + rest = asin(|x|) for |x| <= 1/2, asin(sqrt((1 - |x|) / 2)) beyond
template <class V>
struct asin_parts {
  V s, cube, series;  // rest = cube series
  decltype(V{} > V{}) beyond;
  LOCUS_VECTOR_FUNCTION static asin_parts of(V x) {
    using T = lane_of<V>;
    V const a = magnitude(x);
    auto const beyond = a > every<V>(T(0.5));
    V const z = beyond ? multiply_add(a, every<V>(T(-0.5)), every<V>(T(0.5))) : a * a;
    V const s = beyond ? sqrt_of(z) : a;
    return {s, s * z, asin_constants<T>::series(z), beyond};
  }
};

struct vector_asin {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using C = asin_constants<lane_of<V>>;
    auto const p = asin_parts<V>::of(x);
    V const first = p.beyond ? C::half_pi - (p.s + p.s) : p.s;
    V const factor = p.beyond ? -(p.cube + p.cube) : p.cube;
    V const low = p.beyond ? every<V>(C::half_pi_low) : V{};
    return with_sign_of(x, first + multiply_add(factor, p.series, low));
  }
};
struct vector_acos {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    using C = asin_constants<T>;
    auto const p = asin_parts<V>::of(x);
    V const angle = multiply_add(p.cube, p.series, p.s), zero{}, one = every<V>(1),
            two = every<V>(2);
    V const k = p.beyond ? (x < 0 ? two : zero) : one;  // multiples of pi/2
    B const sign = (B)x & float_traits<T>::sign;
    V const part = (V)((B)(p.beyond ? angle + angle : -angle) ^ sign);
    return multiply_add(k, every<V>(C::half_pi), multiply_add(k, every<V>(C::half_pi_low), part));
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
