// SPDX-License-Identifier: Apache-2.0
// sinh and cosh of vectors from q, a quarter of e^|x| (of e^|x| - 1 for sinh, so that small results
// keep their digits): no step overflows before the result does.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_SINH)
#define LOCUS_SIMD_MATH_SINH
#include <locus/simd/math_exp.hpp>  // exp_parts, two_to

#define LOCUS_CLONED <locus/simd/math_sinh.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// above every argument with a finite cosh; a quarter of e^x is still finite
template <class T>
inline constexpr T last_of_sinh = sizeof(T) == 4 ? T(89.7) : T(710.7);

struct vector_sinh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = least(every<V>(last_of_sinh<T>), magnitude(x));
    auto const e = exp_parts<V, true>::of(a);
    V const quarter = two_to<-2>(e.n), q = multiply_add(quarter, e.p, quarter - T(0.25));
    V const half = q + q / multiply_add(q, every<V>(4), every<V>(1));
    return a < T(0x1p-60) ? x : with_sign_of(x, half + half);
  }
};
struct vector_cosh {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    V const a = least(every<V>(last_of_sinh<T>), magnitude(x));
    auto const e = exp_parts<V>::of(a);
    V const quarter = two_to<-2>(e.n), q = multiply_add(quarter, e.p, quarter);
    V const half = q + T(0.0625) / q;
    return half + half;
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
