// SPDX-License-Identifier: Apache-2.0
// Normal random numbers with the same bits on every device: every product that is added is an
// explicit fma, so that no compiler chooses whether to contract it. No function of libm is called.
#pragma once
#include <cstdint>  // uint64_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE, LOCUS_MATH

namespace locus {

namespace detail {

LOCUS_HOST_DEVICE inline double fused(double a, double b, double c) {
  return LOCUS_MATH(fma)(a, b, c);
}
LOCUS_HOST_DEVICE inline float fused(float a, float b, float c) {
  return LOCUS_MATH(fmaf)(a, b, c);
}

/// means: c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule
template <class T, class... Coefficients>
LOCUS_HOST_DEVICE inline T polynomial(T x, T c0, Coefficients... higher) {
  if constexpr (sizeof...(Coefficients) == 0)
    return c0;
  else
    return fused(polynomial(x, higher...), x, c0);
}

/// means: the natural logarithm of a positive normal number, within 2 ulp, by atanh's series
LOCUS_HOST_DEVICE inline double portable_log(double x) {
  auto const bits = __builtin_bit_cast(std::uint64_t, x);
  // 0x3fe6a09e667f3bcd is sqrt(1/2): the mantissa goes to [sqrt(1/2), sqrt(2))
  auto const shifted = bits - 0x3fe6a09e667f3bcdu;
  auto const exponent = static_cast<double>(static_cast<std::int64_t>(shifted) >> 52);
  double const m = __builtin_bit_cast(double, bits - (shifted & 0xfff0000000000000u));
  double const s = (m - 1) / (m + 1), t = s * s;
  double const series = polynomial(t, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13,
                                   1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21);
  double const ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  return fused(exponent, ln2_high, fused(exponent, ln2_low, 2 * s * series));
}

}  // namespace detail

/// means: z with Phi(z) = p; one bit of `bits` is the sign, 52 bits are the probability below 1/2
/// cost:  two polynomials of degree 7; for |z| > 1.44 also a logarithm and a square root
/// after: Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988): 16 digits
LOCUS_HOST_DEVICE inline double inverse_normal(std::uint64_t bits) {
  using detail::polynomial;
  double const tail = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-53;  // in (0, 1/2)
  double const q = 0.5 - tail;
  double z;
  if (q <= 0.425) {
    double const r = detail::fused(-q, q, 0.180625);
    z = q *
        polynomial(r, 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                   1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                   3.3430575583588128105e4, 2.5090809287301226727e3) /
        polynomial(r, 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                   5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                   2.8729085735721942674e4, 5.2264952788528545610e3);
  } else {
    double const r = LOCUS_MATH(sqrt)(-detail::portable_log(tail));
    if (r <= 5) {
      double const x = r - 1.6;
      z = polynomial(x, 1.42343711074968357734e0, 4.63033784615654529590e0,
                     5.76949722146069140550e0, 3.64784832476320460504e0, 1.27045825245236838258e0,
                     2.41780725177450611770e-1, 2.27238449892691845833e-2,
                     7.74545014278341407640e-4) /
          polynomial(x, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                     6.89767334985100004550e-1, 1.48103976427480074590e-1,
                     1.51986665636164571966e-2, 5.47593808499534494600e-4,
                     1.05075007164441684324e-9);
    } else {
      double const x = r - 5;
      z = polynomial(x, 6.65790464350110377720e0, 5.46378491116411436990e0,
                     1.78482653991729133580e0, 2.96560571828504891230e-1, 2.65321895265761230930e-2,
                     1.24266094738807843860e-3, 2.71155556874348757815e-5,
                     2.01033439929228813265e-7) /
          polynomial(x, 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                     1.48753612908506148525e-2, 7.86869131145613259100e-4,
                     1.84631831751005468180e-5, 1.42151175831644588870e-7,
                     2.04426310338993978564e-15);
    }
  }
  return (bits & 1) != 0 ? z : -z;
}

}  // namespace locus
