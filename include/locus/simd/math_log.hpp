// SPDX-License-Identifier: Apache-2.0
// log, log1p, log2 and log10 of vectors: x = 2^e (1 + f) with 1 + f in [0.75, 1.5), and
// log(1 + f) = f - s (f - R(s^2)) with s = f / (f + 2). Zero, negative and
// denormal numbers, inf and NaN are rare arguments (simd/math.hpp).
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_MATH_LOG)
#define LOCUS_SIMD_MATH_LOG
#include <locus/simd/math.hpp>  // polynomial, unless_rare

#define LOCUS_CLONED <locus/simd/math_log.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

// Coefficients: minimax of -(log(1 + f) - 2 s) / s^3 in z = s^2.
template <class T>
struct log_constants;
template <>
struct log_constants<float> {
  static constexpr std::uint32_t lowest_mantissa = 0x3f400000;
  static constexpr float ln2 = 0x1.62e43p-1f, log2e = 0x1.715476p+0f, log10e = 0x1.bcb7b2p-2f,
                         log10_of_2 = 0x1.344p-2f,
                         log10_of_2_low =
                             0x1.3509f8p-18f;  // in two parts: no digit may be lost at 3/4
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V z) {
    return polynomial(z, -0x1.5555b4p-1f, -0x1.992a98p-2f, -0x1.36eeb8p-2f);
  }
};
template <>
struct log_constants<double> {
  static constexpr std::uint64_t lowest_mantissa = 0x3fe8000000000000;
  static constexpr double ln2 = 0x1.62e42fefa39efp-1, log2e = 0x1.71547652b82fep+0,
                          log10e = 0x1.bcb7b1526e50ep-2, log10_of_2 = 0x1.34413509f79p-2,
                          log10_of_2_low = 0x1.fde623e2566bp-47;
  template <class V>
  LOCUS_VECTOR_FUNCTION static V series(V z) {
    return polynomial(z, -0x1.555555555577fp-1, -0x1.99999998ee252p-2, -0x1.249249b3fd012p-2,
                      -0x1.c71c00368fab4p-3, -0x1.747512a08b965p-3, -0x1.384f211bc74f2p-3,
                      -0x1.3adac675a2281p-3);
  }
};

/// means: x = 2^e m with m in [0.75, 1.5), for positive normal x; down = 2^-e if that is normal
template <class V>
struct log_parts {
  using traits = float_traits<lane_of<V>>;
  using B = bits_vector<V>;
  V m, e, down;

  LOCUS_VECTOR_FUNCTION static log_parts of(V x) {
    lane_of<B> const exponents = ~lane_of<B>(0) << traits::digits;
    B const k = ((B)x - log_constants<lane_of<V>>::lowest_mantissa) & exponents;
    return {(V)((B)x - k), number_of(k), (V)(traits::one - k)};
  }

 private:
  /// e as a number, from bits that contain its exponent
  LOCUS_VECTOR_FUNCTION static V number_of(B k) {
    if constexpr (sizeof(lane_of<V>) == 4) {
      using Integers = vector<int, lanes_of<V>>;
      return __builtin_convertvector((Integers)k >> traits::digits, V);
    } else {  // below AVX-512 no conversion from 64 bits: e + 2048 as the last digits of 2^52
      B const low = (k + (lane_of<B>(2048) << traits::digits)) >> traits::digits;
      return (V)(low | 0x4330000000000000) - (0x1p52 + 2048);
    }
  }
};
/// means: log(1 + f)
template <class V>
LOCUS_VECTOR_FUNCTION V log_near_one(V f) {
  V const s = f / (f + 2), z = s * s;
  return multiply_add(-s, multiply_add(z, log_constants<lane_of<V>>::series(z), f), f);
}
/// means: r, the logarithm of |x|, for x > 0; -inf for 0, NaN for x < 0 and NaN, inf for inf
template <class V>
LOCUS_VECTOR_FUNCTION V with_ends(V x, V r) {
  V const inf = every<V>(static_cast<lane_of<V>>(__builtin_inff()));
  r = x < inf ? r : x;
  r = x == 0 ? -inf : r;
  return x < 0 ? every<V>(static_cast<lane_of<V>>(__builtin_nanf(""))) : r;
}

#define LOCUS_VECTOR_LOGARITHM(name, result)                                                     \
  struct vector_##name {                                                                         \
    template <class V>                                                                           \
    LOCUS_VECTOR_FUNCTION static V of(V x) {                                                     \
      using T = lane_of<V>;                                                                      \
      auto const least_normal = bits_of_two_to<T>(1 - float_traits<T>::bias);                    \
      return unless_rare<vector_##name>(x, of(x, every<V>(0)), (bits_vector<V>)x - least_normal, \
                                        bits_of_two_to<T>(float_traits<T>::bias) - 1);           \
    }                                                                                            \
    template <class V>                                                                           \
    LOCUS_VECTOR_FUNCTION static V rare(V x, V) {                                                \
      using T = lane_of<V>;                                                                      \
      auto const denormal = x < every<V>(T(0x1p-60));                                            \
      return with_ends(x, of(denormal ? x * T(0x1p60) : x, denormal ? every<V>(60) : V{}));      \
    }                                                                                            \
                                                                                                 \
   private:                                                                                      \
    template <class V> /* of x 2^-down */                                                        \
    LOCUS_VECTOR_FUNCTION static V of(V x, V down) {                                             \
      using C = log_constants<lane_of<V>>;                                                       \
      auto const parts = log_parts<V>::of(x);                                                    \
      V const l = log_near_one(as_written(parts.m - 1)), e = parts.e - down;                     \
      return result;                                                                             \
    }                                                                                            \
  };
LOCUS_VECTOR_LOGARITHM(log, multiply_add(e, every<V>(C::ln2), l))
LOCUS_VECTOR_LOGARITHM(log2, multiply_add(l, every<V>(C::log2e), e))
LOCUS_VECTOR_LOGARITHM(log10, multiply_add(e, every<V>(C::log10_of_2),
                                           multiply_add(l, every<V>(C::log10e),
                                                        as_written(e* C::log10_of_2_low))))
#undef LOCUS_VECTOR_LOGARITHM

/// e is that of 1 + x; then f = x 2^-e + (2^-e - 1) is rounded once, so no digit of x is lost
struct vector_log1p {
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of(V x) {
    using T = lane_of<V>;
    using B = bits_vector<V>;
    V const y = (V)((B)of_moderate(x) | ((B)x & float_traits<T>::sign));  // -0 stays
    // 2^-60 <= 1 + x <= 2^60
    return unless_rare<vector_log1p>(x, y, (B)(x + 1) - bits_of_two_to<T>(-60),
                                     bits_of_two_to<T>(60) - bits_of_two_to<T>(-60));
  }
  /// for 2^-60 <= 1 + x <= 2^60
  template <class V>
  LOCUS_VECTOR_FUNCTION static V of_moderate(V x) {
    auto const parts = log_parts<V>::of(x + 1);
    V const l = log_near_one(multiply_add(x, parts.down, as_written(parts.down - 1)));
    return multiply_add(parts.e, every<V>(log_constants<lane_of<V>>::ln2), l);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION static V rare(V x, V y) {
    V const u = x + 1;
    return with_ends(u, u < every<V>(lane_of<V>(0x1p60)) ? y : vector_log::of(x));
  }
};

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
