// SPDX-License-Identifier: Apache-2.0
// Many numbers divided by one: a division takes as long as ten multiplications.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_QUOTIENT)
#define LOCUS_SIMD_MATH_QUOTIENT
#include <locus/simd/math.hpp>  // bits_vector, every

#define LOCUS_CLONED <locus/simd/math_quotient.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: a / b, rounded as division rounds it, for a >= 0 and b >= 1 whose 1 / b is a normal
///        number; in a loop with one b, 1 / b is computed once
/// after: Markstein, IA-64 and Elementary Functions, 2000: q = a (1 / b), corrected by the
///        remainder times 1 / b
struct vector_quotient {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V a, V b) {
    if constexpr (!(LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512))
      return a / b;
    else {
      using T = lane_of<V>;
      using B = bits_vector<V>;
      V const inverse = 1 / b, q = a * inverse;
      V const y = as_written(multiply_add(as_written(multiply_add(-q, b, a)), inverse, q));
      // for a smaller a the remainder would not be a normal number
      auto const least = bits_of_two_to<T>(sizeof(T) == 4 ? -80 : -900);
      if (__builtin_expect(any_above(least - B{}, (B)a), 0)) return a / b;
      return y;
    }
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
