// SPDX-License-Identifier: Apache-2.0
// floor, ceil, trunc and round of vectors by additions, exact with every instruction set.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_ROUND)
#define LOCUS_SIMD_MATH_ROUND
#include <locus/simd/math.hpp>  // with_sign_of, magnitude

#define LOCUS_CLONED <locus/simd/math_round.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: y with the sign of x if |x| is small enough to have a fraction, else x
template <class V>
LOCUS_VECTOR_FUNCTION V where_fractional(V x, V y) {
  using T = lane_of<V>;
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  return magnitude(x) < whole ? with_sign_of(x, y) : x;
}
/// means: the integer nearest to x, 0 <= x < 2^digits; halves round to even
template <class V>
LOCUS_VECTOR_FUNCTION V nearest_whole(V x) {
  using T = lane_of<V>;
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  return as_written(x + whole) - whole;
}
struct vector_round {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    return where_fractional(x, nearest_whole(magnitude(x)));
  }
};
struct vector_trunc {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    V const a = magnitude(x), n = nearest_whole(a);
    return where_fractional(x, n > a ? n - 1 : n);
  }
};
struct vector_floor {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    V const n = vector_round::of(x);
    return n > x ? n - 1 : n;
  }
};
struct vector_ceil {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    V const n = vector_round::of(x);
    return with_sign_of(x, n < x ? n + 1 : n);
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
