// SPDX-License-Identifier: Apache-2.0
// cbrt of vectors, without a division: a constant minus a third of the bits of a gives y = a^(-1/3)
// to 3 percent; e = 1 - a y^3, a^(-2/3) = y^2 P(e), and one Newton step gives a^(1/3). Zero,
// denormal numbers, inf and NaN are rare arguments (simd/math.hpp).
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_CBRT)
#define LOCUS_SIMD_MATH_CBRT
#include <locus/simd/math.hpp>  // polynomial, unless_rare

#define LOCUS_CLONED <locus/simd/math_cbrt.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// series: minimax of (1 - e)^(-2/3) for |e| < 0.103, relative; start: the constant with the least
// max |e|, found by trial.
template <class T>
struct cbrt_constants;
template <>
struct cbrt_constants<float> {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V e) {
    return polynomial(e, 0x1.ffff2ap-1f, 0x1.5553e2p-1f, 0x1.1ee9cep-1f, 0x1.fef33ep-2f);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V start(V a) {
    using Integers = vector<int, lanes_of<V>>;
    V const bits = __builtin_convertvector((Integers)a, V);
    return (V) __builtin_convertvector(
        multiply_add(bits, every<V>(-0x1.555556p-2f), every<V>(1419900955.f)), Integers);
  }
};
template <>
struct cbrt_constants<double> {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V e) {
    return polynomial(e, 0x1.ffffffffceaf8p-1, 0x1.5555570293f01p-1, 0x1.1c71c9fe53c6ep-1,
                      0x1.f9a3edf5c041dp-2, 0x1.cf7e031e49212p-2, 0x1.b7ec81beaa93cp-2,
                      0x1.a0340d2f00c68p-2);
  }
  /// from the upper 32 bits, which become the last digits of 2^52 + bits
  template <class V>
  LOCUS_VECTOR_FUNCTION static V start(V a) {
    using B = bits_vector<V>;
    V const bits = (V)(((B)a >> 32) | 0x4330000000000000);
    constexpr double upper = 1430186414, third = 0x1.5555555555555p-2;
    V const r = as_written(
        multiply_add(bits, every<V>(-third), every<V>(0x1.8p52 + 0x1p52 * third + upper)));
    return (V)((B)r << 32);
  }
};

struct vector_cbrt {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = magnitude(x);
    auto const least_normal = bits_of_two_to<T>(1 - float_traits<T>::bias),
               inf = bits_of_two_to<T>(float_traits<T>::bias + 1);
    return unless_rare<vector_cbrt>(x, with_sign_of(x, root(a)), (bits_vector<V>)a - least_normal,
                                    inf - least_normal - 1);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    using T = lane_of<V>;
    V const a = magnitude(x);
    y = (bits_vector<V>)a < bits_of_two_to<T>(1 - float_traits<T>::bias)
            ? with_sign_of(x, root(a * T(0x1p90)) * T(0x1p-30))
            : y;
    return ((a > 0) & (a < every<V>(static_cast<T>(__builtin_inff())))) ? y : x;
  }

 private:
  template <class V>
  LOCUS_VECTOR_FUNCTION static V root(V a) {
    using C = cbrt_constants<lane_of<V>>;
    V const y = C::start(a), square = y * y, e = multiply_add(-square, a * y, every<V>(1));
    V const q = square * C::series(e), t = a * q;
    return multiply_add(multiply_add(-(t * t), t, a) * lane_of<V>(1. / 3), q, t);
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
