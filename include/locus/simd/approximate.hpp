// SPDX-License-Identifier: Apache-2.0
// Quotients and square roots from the estimates of vector units and one Newton step: the division
// and the square root of relaxed plans.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_APPROXIMATE)
#define LOCUS_SIMD_APPROXIMATE
#include <locus/simd/math.hpp>  // every, multiply_add, by_element

#define LOCUS_CLONED <locus/simd/approximate.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// the vector unit has estimates for float vectors of this length
inline constexpr bool has_estimates =
#if defined(__SSE2__)
    true;
#else
    false;
#endif

// About 14 (AVX-512) or 12 bits of 1 / x and of 1 / sqrt(x), in one instruction.
#if LOCUS_CLONE_AVX512
LOCUS_VECTOR_FUNCTION vector<float, 16> reciprocal_estimate(vector<float, 16> x) {
#if defined(__clang__)
  return __builtin_ia32_rcp14ps512_mask(x, x, 65535);
#else
  return __builtin_ia32_rcp14ps512_mask(x, x, -1);
#endif
}
LOCUS_VECTOR_FUNCTION vector<float, 16> root_estimate(vector<float, 16> x) {
#if defined(__clang__)
  return __builtin_ia32_rsqrt14ps512_mask(x, x, 65535);
#else
  return __builtin_ia32_rsqrt14ps512_mask(x, x, -1);
#endif
}
LOCUS_VECTOR_FUNCTION vector<double, 8> root_estimate(vector<double, 8> x) {
#if defined(__clang__)
  return __builtin_ia32_rsqrt14pd512_mask(x, x, 255);
#else
  return __builtin_ia32_rsqrt14pd512_mask(x, x, -1);
#endif
}
#elif defined(__SSE2__)
#if LOCUS_CLONE_AVX
LOCUS_VECTOR_FUNCTION vector<float, 8> reciprocal_estimate(vector<float, 8> x) {
  return __builtin_ia32_rcpps256(x);
}
LOCUS_VECTOR_FUNCTION vector<float, 8> root_estimate(vector<float, 8> x) {
  return __builtin_ia32_rsqrtps256(x);
}
#endif
LOCUS_VECTOR_FUNCTION vector<float, 4> reciprocal_estimate(vector<float, 4> x) {
  return __builtin_ia32_rcpps(x);
}
LOCUS_VECTOR_FUNCTION vector<float, 4> root_estimate(vector<float, 4> x) {
  return __builtin_ia32_rsqrtps(x);
}
#endif

/// a / b by an estimate of 1 / b and one step of Newton, and the quotients that it misses
struct relaxed_quotient {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V a, V b) {
    V const y = reciprocal_estimate(b), q = a * y,
            better = multiply_add(multiply_add(-q, b, a), y, q);
    auto const infinity = bits_of_two_to<float>(128);
    return unless_rare<relaxed_quotient>(a, b, better, (bits_vector<V>)magnitude(better), infinity);
  }
  /// the remainder is NaN where the estimate is 0 or infinite: then q; where that is NaN, too, as
  /// zero times infinity, a b is a / b
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V a, V b, V better) {
    V const q = a * reciprocal_estimate(b), inf = every<V>(__builtin_inff());
    V const rest = ((q != q) & (b != 0.f) & (magnitude(b) < inf)) ? a * b : q;
    return better == better ? better : rest;
  }
};
/// means: a / b to 3 ulp if a, b and the quotient are normal numbers and |b| <= 2^125. A zero, an
///        infinity or a NaN among a and b gives a / b, but the sign of a zero may differ. The
///        estimate of a larger |b| may be 0, and then so is the quotient of a normal a
/// after: Intel's manual of instructions, RCPPS: tiny results are 0
template <class V>
LOCUS_VECTOR_FUNCTION V approximate_quotient(V a, V b) {
  return relaxed_quotient::of(a, b);
}
/// means: sqrt(x) to 3 ulp if x is a normal number; 0, inf and NaN like sqrt(x)
template <class V>
LOCUS_VECTOR_FUNCTION V approximate_root(V x) {
  V const y = root_estimate(x), s = x * y;
  V const better = multiply_add(multiply_add(-s, s, x), 0.5f * y, s);
  return ((x == 0.f) | (x == every<V>(__builtin_inff()))) ? x : better;
}

struct relaxed_root {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    return approximate_root(x);
  }
};
/// means: approximate_quotient of a single pair, with the bits of a lane
template <class Float>
[[gnu::noinline]] Float quotient_of_one(Float a, Float b) {
  using V = vector<Float, least_bytes / int(sizeof(Float))>;
  return approximate_quotient(every<V>(a), every<V>(b))[0];
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
