// SPDX-License-Identifier: Apache-2.0
// Numbers of twice the digits as a sum of two numbers: sums and products without rounding errors.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_TWOFOLD)
#define LOCUS_SIMD_MATH_TWOFOLD
#include <locus/simd/math.hpp>  // multiply_add, as_written

#define LOCUS_CLONED <locus/simd/math_twofold.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: high + low, |low| at most half a unit in the last place of high
template <class V>
struct twofold {
  V high, low;
};
/// means: a + b exactly, where |a| >= |b| or a = 0
template <class V>
LOCUS_VECTOR_FUNCTION twofold<V> ordered_sum_of(V a, V b) {
  V const s = as_written(a + b);
  return {s, b - as_written(s - a)};
}
/// means: a + b exactly
template <class V>
LOCUS_VECTOR_FUNCTION twofold<V> sum_of(V a, V b) {
  V const s = as_written(a + b), part = as_written(s - a);
  return {s, as_written(a - as_written(s - part)) + as_written(b - part)};
}
/// means: x with the lower half of its digits set to 0
template <class V>
LOCUS_VECTOR_FUNCTION V upper_half(V x) {
  using B = bits_vector<V>;
  constexpr auto lower = (lane_of<B>(1) << (float_traits<lane_of<V>>::digits / 2 + 1)) - 1;
  return (V)((B)x & ~lower);
}
/// means: a b exactly, if no part of it is denormal
template <class V>
LOCUS_VECTOR_FUNCTION twofold<V> product_of(V a, V b) {
  V const p = as_written(a * b);
  if constexpr (LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512)
    return {p, multiply_add(a, b, -p)};
  else {
    V const ah = upper_half(a), al = as_written(a - ah), bh = upper_half(b),
            bl = as_written(b - bh);
    return {p, as_written(as_written(as_written(ah * bh - p) + ah * bl) + al * bh) + al * bl};
  }
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
