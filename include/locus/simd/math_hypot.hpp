// SPDX-License-Identifier: Apache-2.0
// hypot of vectors: sqrt(x^2 + y^2), if both squares and the sum are normal numbers; otherwise
// the arguments are rare (simd/math.hpp) and are scaled first.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_HYPOT)
#define LOCUS_SIMD_MATH_HYPOT
#include <locus/simd/approximate.hpp>  // root_estimate

#define LOCUS_CLONED <locus/simd/math_hypot.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

template <class T>
struct hypot_constants;
template <>
struct hypot_constants<float> {
  static constexpr int least = -90, most = 126;  // exponents of sums that need no scaling
  static constexpr float up = 0x1p100f, down = 0x1p-70f;
};
template <>
struct hypot_constants<double> {
  static constexpr int least = -900, most = 1022;
  static constexpr double up = 0x1p600, down = 0x1p-600;
};

/// means: sqrt(s) for normal s, to 0.6 ulp; the instruction for roots is the slowest of the
///        processor
template <class V>
LOCUS_VECTOR_FUNCTION V root_of_normal(V s) {
#if LOCUS_CLONE_AVX512
  if constexpr (sizeof(V) == 64) {
    using T = lane_of<V>;
    V const y = root_estimate(s);
    V g = s * y, h = y * T(0.5);
    if constexpr (sizeof(T) == 8) {
      V const r = multiply_add(-g, h, every<V>(T(0.5)));
      g = multiply_add(g, r, g), h = multiply_add(h, r, h);
    }
    return multiply_add(multiply_add(-g, g, s), h, g);
  }
#endif
  return sqrt_of(s);
}

struct vector_hypot {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x, V y) {
    using T = lane_of<V>;
    using C = hypot_constants<T>;
    V const s = sum_of_squares(x, y);
    auto const least = bits_of_two_to<T>(C::least);
    return unless_rare<vector_hypot>(x, y, root_of_normal(s), (bits_vector<V>)s - least,
                                     bits_of_two_to<T>(C::most) - least);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y, V r) {
    using T = lane_of<V>;
    using C = hypot_constants<T>;
    using B = bits_vector<V>;
    V const a = magnitude(x), b = magnitude(y), inf = every<V>(static_cast<T>(__builtin_inff()));
    B const s = (B)sum_of_squares(x, y);
    auto const is_small = s<bits_of_two_to<T>(C::least), is_large = s> bits_of_two_to<T>(C::most);
    V const by = is_small ? every<V>(C::up) : is_large ? every<V>(C::down) : every<V>(1);
    V const root = sqrt_of(sum_of_squares(a * by, b * by));
    r = is_small ? root * (1 / C::up) : is_large ? root * (1 / C::down) : r;
    return (((B)a == (B)inf) | ((B)b == (B)inf)) ? inf : r;
  }

 private:
  template <class V>
  LOCUS_VECTOR_FUNCTION static V sum_of_squares(V x, V y) {
    return multiply_add(x, x, as_written(y * y));
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
