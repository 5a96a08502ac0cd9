// SPDX-License-Identifier: Apache-2.0
// asinh, acosh and atanh of vectors by log1p of a number in [0, 2^60]. Rare arguments: larger ones,
// for which log(2 x) is exact enough, and those outside the domain.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_ASINH)
#define LOCUS_SIMD_MATH_ASINH
#include <locus/simd/math_log.hpp>  // vector_log1p, vector_log

#define LOCUS_CLONED <locus/simd/math_asinh.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: log(2 x) if x > 2^60, else y
template <class V>
LOCUS_VECTOR_FUNCTION V or_log_of_twice(V x, V y) {
  using T = lane_of<V>;
  return x > every<V>(T(0x1p60)) ? vector_log::of(x) + log_constants<T>::ln2 : y;
}

struct vector_asinh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = magnitude(x), one = every<V>(1);
    V const z = a + a * a / (1 + sqrt_of(multiply_add(a, a, one)));
    return unless_rare<vector_asinh>(x, with_sign_of(x, vector_log1p::of_moderate(z)),
                                     (bits_vector<V>)a, bits_of_two_to<T>(60));
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    V const r = or_log_of_twice(magnitude(x), magnitude(y));
    return x == x ? with_sign_of(x, r) : x;
  }
};
struct vector_acosh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const t = as_written(x - 1), z = t + sqrt_of(multiply_add(t, t, t + t));
    return unless_rare<vector_acosh>(x, vector_log1p::of_moderate(z),
                                     (bits_vector<V>)x - float_traits<T>::one,
                                     bits_of_two_to<T>(60) - float_traits<T>::one);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    using T = lane_of<V>;
    return x >= 1 ? or_log_of_twice(x, y) : every<V>(static_cast<T>(__builtin_nanf("")));
  }
};
struct vector_atanh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = magnitude(x), z = (a + a) / (1 - a);
    return unless_rare<vector_atanh>(x, with_sign_of(x, T(0.5) * vector_log1p::of_moderate(z)),
                                     (bits_vector<V>)a, float_traits<T>::one - 1);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    using T = lane_of<V>;
    V const a = magnitude(x), inf = every<V>(static_cast<T>(__builtin_inff()));
    V const r = a < 1 ? y : with_sign_of(x, inf);
    return a <= 1 ? r : every<V>(static_cast<T>(__builtin_nanf("")));
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
