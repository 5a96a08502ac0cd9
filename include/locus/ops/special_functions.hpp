// SPDX-License-Identifier: Apache-2.0
// Special functions that the C library does not have, for one element; the host and GPUs compile
// the same code. The table of ops/elementwise.hpp makes their functors.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_HOST_DEVICE, LOCUS_BY_SIDE, LOCUS_MODE
#include <locus/ops/elementwise.hpp>    // LOCUS_ELEMENTWISE_SPECIAL
#include <locus/ops/math_functors.hpp>  // log_fn, round_fn
#include <locus/ops/operations.hpp>     // LOCUS_BUILTIN

namespace locus {

namespace detail {
inline namespace LOCUS_MODE {

/// means: c[0] + c[1] x + c[2] x^2 + ...
template <class T>
LOCUS_HOST_DEVICE constexpr T power_series(T, T c) {
  return c;
}
template <class T, class... More>
LOCUS_HOST_DEVICE constexpr T power_series(T x, T c, More... higher) {
  return power_series(x, higher...) * x + c;
}
/// means: pi tan(pi b) for 0 <= b <= 1/4, as pi^2 b plus a correction
template <class T>
LOCUS_HOST_DEVICE constexpr T pi_tangent(T b) {
  T const z = b * b;
  if constexpr (sizeof(T) == 4) {
    T const cosine =
        power_series(z, 1.f, -0x1.3bd3ccp+2f, 0x1.03c1dcp+2f, -0x1.55c57ap+0f, 0x1.d9c2e8p-3f);
    T const above =
        power_series(z, 0x1.a51a66p+1f, -0x1.9f9ca8p+1f, 0x1.24f73ap+0f, -0x1.a6707cp-3f);
    return 0x1.3bd3ccp+3f * b + (0x1.37c8bcp-22f * b + 0x1.3bd3ccp+3f * b * z * above / cosine);
  } else {
    T const cosine = power_series(
        z, 1., -0x1.3bd3cc9be45dep+2, 0x1.03c1f081b5aacp+2, -0x1.55d3c7e3c90f8p+0,
        0x1.e1f5068355e15p-3, -0x1.a6d1ec7906c20p-6, 0x1.f9cc41140bb60p-10, -0x1.b264ba152378ap-14);
    T const above = power_series(z, 0x1.a51a6625307d3p+1, -0x1.9f9cb402bc466p+1,
                                 0x1.24feab55897a3p+0, -0x1.ac6805ccc8fcbp-3, 0x1.8061c1d759b05p-6,
                                 -0x1.d2e59272e3215p-10, 0x1.95ecdb5f41635p-14);
    return 0x1.3bd3cc9be45dep+3 * b +
           (0x1.692b71366cc04p-51 * b + 0x1.3bd3cc9be45dep+3 * b * z * above / cosine);
  }
}
/// means: pi cot(pi r) for |r| <= 1/2, as 1 / r minus a series
template <class T>
LOCUS_HOST_DEVICE constexpr T pi_cotangent(T r) {
  T const a = r < T(0) ? -r : r, z = a * a;
  T y = T(0);
  if (a > T(0.25))
    y = pi_tangent(T(0.5) - a);
  else if constexpr (sizeof(T) == 4)
    y = 1 / a - a * power_series(z, 0x1.a51a66p+1f, 0x1.151306p+1f, 0x1.047f28p+1f, 0x1.fd10dcp+0f,
                                 0x1.2cb26ap+1f);
  else
    y = 1 / a - a * power_series(z, 0x1.a51a6625307d3p+1, 0x1.151322ac7d848p+1,
                                 0x1.0470984c0923bp+1, 0x1.010b36af86f09p+1, 0x1.00412e3337b92p+1,
                                 0x1.001020cca3396p+1, 0x1.0003fada36195p+1, 0x1.000248a6053f9p+1,
                                 0x1.ffc05f2b25365p+0, 0x1.020df411682eep+1, 0x1.d5db6ac40e409p+0,
                                 0x1.77e2b68985372p+1);
  return r < T(0) ? -y : y;
}
/// means: (pi / sin(pi r))^2 for |r| <= 1/2, as 1 / r^2 plus a series, or pi^2 + (pi cot(pi r))^2
template <class T>
LOCUS_HOST_DEVICE constexpr T square_of_pi_over_sine(T r) {
  T const a = r < T(0) ? -r : r, z = a * a;
  if (a > T(0.25)) {
    T const tangent = pi_tangent(T(0.5) - a);
    return static_cast<T>(0x1.3bd3cc9be45dep+3) + tangent * tangent;
  }
  if constexpr (sizeof(T) == 4)
    return 1 / z + power_series(z, 0x1.a51a66p+1f, 0x1.9f9cb8p+2f, 0x1.458b16p+3f, 0x1.c24356p+3f,
                                0x1.19b0acp+4f, 0x1.b9e1eap+4f);
  else
    return 1 / z + power_series(z, 0x1.a51a6625307d3p+1, 0x1.9f9cb402bc46cp+2, 0x1.458cbe5f0b6d7p+3,
                                0x1.c1d39fb32ac31p+3, 0x1.204953fa265b8p+4, 0x1.60162cdecb695p+4,
                                0x1.a006872c76c63p+4, 0x1.e001a1457f32cp+4, 0x1.100430f2da1a4p+5,
                                0x1.2fab28c63f60fp+5, 0x1.54cde210bc83bp+5, 0x1.43d4e7dd28684p+5,
                                0x1.398de1425e3b0p+6);
}

/// means: the digamma function for 1 <= x <= 2, with small relative error also near its zero
///        1.4616...
template <class T>
LOCUS_HOST_DEVICE constexpr T digamma_of_one_to_two(T x) {
  T const t = x - T(1.5);
  if constexpr (sizeof(T) == 4)
    return (x - 0x1.762d86p+0f - 0x1.ab5f2p-27f) *
           power_series(t, 0x1.e6f0ccp-1f, -0x1.b1cb64p-2f, 0x1.ec9f6cp-3f, -0x1.2fed84p-3f,
                        0x1.859896p-4f, -0x1.fbf64p-5f, 0x1.4283a8p-5f, -0x1.aac8eep-6f,
                        0x1.87b9eap-6f, -0x1.049beep-6f);
  else
    return (x - 0x1.762d86356be3fp+0 - 0x1.b86a722197829p-54) *
           power_series(t, 0x1.e6f0cbb873617p-1, -0x1.b1cb63005ee97p-2, 0x1.eca189b8e6da1p-3,
                        -0x1.2feeeb98a7cd8p-3, 0x1.8512e5905d180p-4, -0x1.fb442029cdbf4p-5,
                        0x1.4de9aa05d3418p-5, -0x1.b9f8b1367959dp-6, 0x1.256475e5ac975p-6,
                        -0x1.86355f6f68797p-7, 0x1.03c00801ba958p-7, -0x1.5a071c746535bp-8,
                        0x1.cd3e42d157015p-9, -0x1.33661f9073563p-9, 0x1.980fc9c9f0be8p-10,
                        -0x1.1002aaf6255f5p-10, 0x1.7b3b41b0b38cdp-11, -0x1.f99f529bd0771p-12,
                        0x1.dc8ae08af0fc4p-13, -0x1.3db05b36d9a48p-13, 0x1.104c9d0897b58p-12,
                        -0x1.6b107f71aa124p-13);
}
/// means: log(x) - 1 / (2 x) - digamma(x), a function of z = 1 / x^2, for x >= 10
template <class T>
LOCUS_HOST_DEVICE constexpr T digamma_below_log(T z) {
  if constexpr (sizeof(T) == 4)
    return z * power_series(z, 1.f / 12, -1.f / 120, 1.f / 252);
  else
    return z * power_series(z, 1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760,
                            1. / 12, -3617. / 8160);
}
/// means: x (trigamma(x) - 1 / x - 1 / (2 x^2)), a function of z = 1 / x^2, for x >= 10
template <class T>
LOCUS_HOST_DEVICE constexpr T trigamma_tail(T z) {
  if constexpr (sizeof(T) == 4)
    return z * power_series(z, 1.f / 6, -1.f / 30, 1.f / 42);
  else
    return z * power_series(z, 1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6,
                            -3617. / 510, 43867. / 798);
}

/// means: the derivative of log(gamma(x)): for x below 0 by reflection, up to 10 by steps of 1 down
///        to [1, 2], above 10 by Stirling's series. -inf at 0, inf at -0, NaN at -1, -2, ... and
///        -inf
/// units: at most 4 units in the last place, also at the zero above 0; for x below 0, 5 units of
///        the largest of the result, digamma(1 - x) and 1, since the result is the difference of
///        two such numbers there
/// after: Abramowitz and Stegun, 6.3
template <class T>
LOCUS_HOST_DEVICE T digamma_of(T x) {
  T pole = T(0);
  if (x <= T(0)) {
    T const r = x - round_fn{}(x);
    if (r == T(0)) return x == T(0) ? T(-1) / x : r / r;
    pole = -pi_cotangent(r);
    x = T(1) - x;
  } else if (x < T(1)) {
    pole = T(-1) / x;
    x += T(1);
  }
  if (x >= T(10)) {
    T const over = T(1) / x;
    return pole + (log_fn{}(x) - (over * T(0.5) + digamma_below_log(over * over)));
  }
  T steps = T(0);
  while (x > T(2)) {
    x -= T(1);
    steps += T(1) / x;
  }
  return pole + (steps + digamma_of_one_to_two(x));
}

/// means: the derivative of digamma(x), positive everywhere: for x below 0 by reflection, up to 10
///        by steps of 1, above 10 by Stirling's series. inf at 0, -1, -2, ..., NaN at -inf
/// units: at most 5 units in the last place
/// after: Abramowitz and Stegun, 6.4
template <class T>
LOCUS_HOST_DEVICE T trigamma_of(T x) {
  T reflected = T(0);
  bool const below = x <= T(0);
  if (below) {
    reflected = square_of_pi_over_sine(x - round_fn{}(x));
    x = T(1) - x;
  }
  int steps = 0;
  while (x + T(steps) < T(10)) ++steps;
  T const over = T(1) / (x + T(steps));
  T y = over + over * (over * T(0.5) + trigamma_tail(over * over));
  while (steps-- > 0) y += T(1) / ((x + T(steps)) * (x + T(steps)));  // the smallest first
  return below ? reflected - y : y;
}

/// means: log(gamma(x)) for 3/4 <= x < 3, with small relative error also near its zeros 1 and 2
template <class T>
LOCUS_HOST_DEVICE constexpr T lgamma_near_zeros(T x) {
  if (x < T(1.5)) {
    T const t = x - T(1.125);
    if constexpr (sizeof(T) == 4)
      return (x - T(1)) * power_series(t, -0x1.ebb5bep-2f, 0x1.7792e2p-1f, -0x1.4362aap-2f,
                                       0x1.82611p-3f, -0x1.067edep-3f, 0x1.7d7104p-4f,
                                       -0x1.1ff95ep-4f, 0x1.b0f192p-5f, -0x1.551972p-5f,
                                       0x1.6e9324p-5f, -0x1.297c4cp-5f);
    else
      return (x - T(1)) *
             power_series(t, -0x1.ebb5bd9a570d1p-2, 0x1.7792e12fe4dccp-1, -0x1.4362a8b2fc2e9p-2,
                          0x1.82625d02b7982p-3, -0x1.067ff121627a0p-3, 0x1.7d0a946bd220fp-4,
                          -0x1.1fa50b29a7098p-4, 0x1.bda1a45d6e349p-5, -0x1.5f8aa28cac794p-5,
                          0x1.191d5cd0e95a7p-5, -0x1.c661c95ebedccp-6, 0x1.725f36d59a27bp-6,
                          -0x1.3012b8555d4e1p-6, 0x1.f632cc80ce9d3p-7, -0x1.9fbc93b711cecp-7,
                          0x1.5a92567908cd7p-7, -0x1.2b58b895d9071p-7, 0x1.f70423715e7bbp-8,
                          -0x1.4543a2c99af6bp-8, 0x1.1200d6890ec82p-8, -0x1.076632d3bb11fp-7,
                          0x1.c01a68a3fec1bp-8);
  }
  T const t = x - T(2.25);
  if constexpr (sizeof(T) == 4)
    return (x - T(2)) * power_series(t, 0x1.ff797cp-2f, 0x1.2b408cp-2f, -0x1.bcc95ap-5f,
                                     0x1.e14e02p-7f, -0x1.31ba6p-8f, 0x1.a79704p-10f,
                                     -0x1.2f4192p-11f, 0x1.cabb2cp-13f, -0x1.cb6f6p-14f,
                                     0x1.6d8c16p-15f);
  else
    return (x - T(2)) *
           power_series(t, 0x1.ff797bba88502p-2, 0x1.2b408cef4c80ap-2, -0x1.bcc9b6fbc771ep-5,
                        0x1.e14e96ffdf675p-7, -0x1.3191e510fb927p-8, 0x1.a7552042c70afp-10,
                        -0x1.356ab2288f9a5p-11, 0x1.d4c16fcb8e2ccp-13, -0x1.6c170e6f763afp-14,
                        0x1.20083438e211dp-15, -0x1.ce1a5ee49c118p-17, 0x1.76c140c42190dp-18,
                        -0x1.3287973f2e74bp-19, 0x1.f804a5ca03d08p-21, -0x1.a198392c9f931p-22,
                        0x1.64bc7aab72667p-23, -0x1.2a71c75df9003p-24, 0x1.8f3b7d0015988p-26,
                        -0x1.4f4d05bc1225cp-27, 0x1.2e57570aecebdp-27, -0x1.009619712ba51p-28);
}
/// means: x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), a function of z = 1 / x^2, for
///        x >= 10
template <class T>
LOCUS_HOST_DEVICE constexpr T lgamma_tail(T z) {
  if constexpr (sizeof(T) == 4)
    return power_series(z, 1.f / 12, -1.f / 360, 1.f / 1260);
  else
    return power_series(z, 1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360,
                        1. / 156, -3617. / 122400);
}
/// means: log |gamma(x)|: below -1/4 by reflection, up to 3/4 by a step of 1 up, from 3 to 10 by
///        steps of 1 down, above 10 by Stirling's series. inf at 0, -1, -2, ..., inf and -inf
/// units: at most 4 units in the last place, also at the zeros 1 and 2; for x below -1/4, in units
///        of the largest of the result, lgamma(-x) and 1, since the result is the difference of
///        two such numbers there
/// after: Abramowitz and Stegun, 6.1
template <class T>
LOCUS_HOST_DEVICE T lgamma_of(T x) {
  T reflected = T(0);
  bool const below = x < T(-0.25);
  if (below) {
    T const r = x - round_fn{}(x);
    if (!(r < T(0) || r > T(0))) return -log_fn{}(T(0));
    reflected = T(0.5) * log_fn{}(square_of_pi_over_sine(r) / (x * x));
    x = -x;
  }
  T y = T(0);
  if (x < T(0.75))
    y = lgamma_near_zeros(x + T(1)) - log_fn{}(x < T(0) ? -x : x);
  else if (x < T(10)) {
    T product = T(1);
    while (x >= T(3)) product *= x -= T(1);
    y = lgamma_near_zeros(x);
    if (product > T(1)) y += log_fn{}(product);
  } else {
    T const over = T(1) / x;
    y = (x - T(0.5)) * (log_fn{}(x)-T(1)) +
        (static_cast<T>(0.41893853320467274178) + over * lgamma_tail(over * over));
  }
  return below ? reflected - y : y;
}

}  // namespace LOCUS_MODE
}  // namespace detail

// On the host the function is never inlined, so that its bits are the same in kernels for every set
// of instructions. They depend on the flags of the unit, so the name of the operator does too
// (Mode).
#define LOCUS_FUNCTOR_OF_one_own(functor, function)       \
  struct functor##_fn {                                   \
    LOCUS_BUILTIN(#functor)                               \
    template <class Mode = mode>                          \
    LOCUS_HOST_DEVICE float operator()(float a) const {   \
      return LOCUS_BY_SIDE(function(a), of_one<Mode>(a)); \
    }                                                     \
    template <class Mode = mode>                          \
    LOCUS_HOST_DEVICE double operator()(double a) const { \
      return LOCUS_BY_SIDE(function(a), of_one<Mode>(a)); \
    }                                                     \
                                                          \
   private:                                               \
    template <class Mode, class T>                        \
    [[gnu::noinline]] static T of_one(T a) {              \
      return function(a);                                 \
    }                                                     \
  };
#define LOCUS_FUNCTOR(operands, name, tensorflow, law, elements, cost, end, call, scalar, ...) \
  LOCUS_CELL(LOCUS_FUNCTOR_OF_##operands##_, name, LOCUS_BARE scalar)
LOCUS_ELEMENTWISE_SPECIAL(LOCUS_FUNCTOR)
#undef LOCUS_FUNCTOR
#undef LOCUS_FUNCTOR_OF_one_own

}  // namespace locus
