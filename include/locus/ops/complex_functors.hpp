// SPDX-License-Identifier: Apache-2.0
// Functors of complex numbers: the forms of exp, log and kin, and parts of a number.
#pragma once
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>        // LOCUS_HOST_DEVICE, LOCUS_MATH
#include <locus/ops/functors.hpp>       // abs_fn, divide_fn
#include <locus/ops/math_functors.hpp>  // complex_form
#include <locus/ops/operations.hpp>     // LOCUS_BUILTIN
#include <locus/shape/complex.hpp>      // complex

namespace locus {

/// means: the real part
struct real_fn {
  LOCUS_BUILTIN("real")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(complex<T> z) const {
    return z.re;
  }
};
/// means: the imaginary part
struct imag_fn {
  LOCUS_BUILTIN("imag")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(complex<T> z) const {
    return z.im;
  }
};
/// means: re - i im
struct conj_fn {
  LOCUS_BUILTIN("conj")
  template <class T>
  LOCUS_HOST_DEVICE constexpr complex<T> operator()(complex<T> z) const {
    return {z.re, -z.im};
  }
};
/// means: |z|^2 = re^2 + im^2
struct abs2_fn {
  LOCUS_BUILTIN("abs2")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(complex<T> z) const {
    return z.re * z.re + z.im * z.im;
  }
};
/// means: the angle of z, from -pi to pi     after: C's carg
struct arg_fn {
  LOCUS_BUILTIN("arg")
  template <class T>
  LOCUS_HOST_DEVICE T operator()(complex<T> z) const {
    return atan2_fn{}(z.im, z.re);
  }
};
/// means: a + i b
struct make_complex_fn {
  LOCUS_BUILTIN("make_complex")
  template <class Lhs, class Rhs>
    requires is_floating_v<promote_t<Lhs, Rhs>>
  LOCUS_HOST_DEVICE constexpr auto operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    return complex<T>(static_cast<T>(a), static_cast<T>(b));
  }
};
/// means: r (cos(t) + i sin(t))
struct polar_fn {
  LOCUS_BUILTIN("polar")
  template <class Lhs, class Rhs>
    requires is_floating_v<promote_t<Lhs, Rhs>>
  LOCUS_HOST_DEVICE auto operator()(Lhs r, Rhs t) const {
    using T = promote_t<Lhs, Rhs>;
    auto const radius = static_cast<T>(r), angle = static_cast<T>(t);
    return complex<T>(radius * cos_fn{}(angle), radius * sin_fn{}(angle));
  }
};

namespace detail {

template <class T>
LOCUS_HOST_DEVICE constexpr T larger_part(complex<T> z) {
  T const a = z.re < T(0) ? -z.re : z.re, b = z.im < T(0) ? -z.im : z.im;
  return a > b ? a : b;
}
template <class T>
inline constexpr bool is_single = std::is_same_v<T, float>;

// Each form has the accuracy of the real functions that it calls, in both parts of its result where
// no part is a difference of nearly equal numbers, else in the absolute value of its result.

/// means: e^re (cos(im) + i sin(im))
template <>
struct complex_form<exp_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    if (z.im == T(0)) return {exp_fn{}(z.re), z.im};
    T const c = cos_fn{}(z.im), s = sin_fn{}(z.im), most = is_single<T> ? T(88) : T(709);
    if (z.re <= most) {
      T const r = exp_fn{}(z.re);
      return {r * c, r * s};
    }
    T const high = exp_fn{}(most), rest = exp_fn{}(z.re - most);  // r alone may overflow
    return {high * c * rest, high * s * rest};
  }
};
/// means: log |z| + i arg(z)
/// after: log1p(|z|^2 - 1) / 2 for |z| near 1, where log |z| would lose all digits
template <>
struct complex_form<log_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    T const angle = atan2_fn{}(z.im, z.re), a = larger_part(z);
    T const wide = z.re < T(0) ? -z.re : z.re, high = z.im < T(0) ? -z.im : z.im,
            b = wide > high ? high : wide;
    if (a > T(0.5) && a < T(1.5))
      return {T(0.5) * log1p_fn{}((a - T(1)) * (a + T(1)) + b * b), angle};
    // |z| overflows, or has few digits
    T const beyond = is_single<T> ? T(0x1p100f) : T(0x1p1000),
            digits = T(64 * 0.69314718055994530942);
    if (a > beyond)
      return {log_fn{}(hypot_fn{}(z.re * T(0x1p-64), z.im * T(0x1p-64))) + digits, angle};
    if (a < T(1) / beyond)
      return {log_fn{}(hypot_fn{}(z.re * T(0x1p64), z.im * T(0x1p64))) - digits, angle};
    return {log_fn{}(hypot_fn{}(z.re, z.im)), angle};
  }
};
/// means: the root whose real part is not negative
/// after: Kahan, Branch cuts for complex elementary functions (1987)
template <>
struct complex_form<sqrt_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    T const size = larger_part(z);
    if (size == T(0)) return {T(0), z.im};
    // far from 1, |z| + re overflows or loses digits
    T const beyond = is_single<T> ? T(0x1p100f) : T(0x1p1000);
    T scale = T(1), back = T(1);
    if (size > beyond) scale = T(0x1p-4), back = T(4);
    if (size < T(1) / beyond)
      scale = is_single<T> ? T(0x1p24f) : T(0x1p54), back = is_single<T> ? T(0x1p-12f) : T(0x1p-27);
    T const re = z.re * scale, im = z.im * scale, wide = re < T(0) ? -re : re;
    T const root = sqrt_fn{}((wide + hypot_fn{}(re, im)) * T(0.5)), other = im / (root + root);
    if (re >= T(0)) return {root * back, other * back};
    return {(other < T(0) ? -other : other) * back, copysign_fn{}(root, z.im) * back};
  }
};
/// means: e^|re| may overflow
template <class T>
LOCUS_HOST_DEVICE bool has_large_exp(T re) {
  T const most = is_single<T> ? T(88) : T(709);
  return re > most || re < -most;
}
/// means: e^|re| / 2 (cos(im) + i sin(im)) for such a real part: there sinh and cosh are equal
template <class T>
LOCUS_HOST_DEVICE complex<T> half_of_exp(complex<T> z) {
  T const most = is_single<T> ? T(88) : T(709), wide = z.re < T(0) ? -z.re : z.re,
          high = T(0.5) * exp_fn{}(most), rest = exp_fn{}(wide - most);
  return {high * cos_fn{}(z.im) * rest, high * sin_fn{}(z.im) * rest};
}
/// means: sinh(re) cos(im) + i cosh(re) sin(im)
template <>
struct complex_form<sinh_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    if (z.im == T(0)) return {sinh_fn{}(z.re), z.im};
    if (z.re == T(0)) return {z.re, sin_fn{}(z.im)};
    if (has_large_exp(z.re)) {
      complex<T> const e = half_of_exp(z);
      return {z.re < T(0) ? -e.re : e.re, e.im};
    }
    return {sinh_fn{}(z.re) * cos_fn{}(z.im), cosh_fn{}(z.re) * sin_fn{}(z.im)};
  }
};
/// means: cosh(re) cos(im) + i sinh(re) sin(im)
template <>
struct complex_form<cosh_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    if (z.im == T(0)) return {cosh_fn{}(z.re), z.re * z.im};
    if (z.re == T(0)) return {cos_fn{}(z.im), z.re * z.im};
    if (has_large_exp(z.re)) {
      complex<T> const e = half_of_exp(z);
      return {e.re, z.re < T(0) ? -e.im : e.im};
    }
    return {cosh_fn{}(z.re) * cos_fn{}(z.im), sinh_fn{}(z.re) * sin_fn{}(z.im)};
  }
};
/// means: -i sinh(i z)
template <>
struct complex_form<sin_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    complex<T> const turned = complex_form<sinh_fn>::of(complex<T>(-z.im, z.re));
    return {turned.im, -turned.re};
  }
};
/// means: cosh(i z)
template <>
struct complex_form<cos_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    return complex_form<cosh_fn>::of(complex<T>(-z.im, z.re));
  }
};
/// means: sinh(z) / cosh(z)
/// after: Kahan, as sqrt
template <>
struct complex_form<tanh_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static complex<T> of(complex<T> z) {
    T const wide = z.re < T(0) ? -z.re : z.re;
    if (wide > (is_single<T> ? T(11) : T(22)))
      return {copysign_fn{}(T(1), z.re),
              T(4) * sin_fn{}(z.im) * cos_fn{}(z.im) * exp_fn{}(T(-2) * wide)};
    T const t = tan_fn{}(z.im), s = sinh_fn{}(z.re), rho = sqrt_fn{}(T(1) + s * s),
            beta = T(1) + t * t, by = T(1) + beta * s * s;
    return {beta * rho * s / by, t / by};
  }
};
template <>
struct complex_form<reciprocal_fn> {
  template <class T>
  LOCUS_HOST_DEVICE static constexpr complex<T> of(complex<T> z) {
    return complex<T>(T(1)) / z;
  }
};

}  // namespace detail
}  // namespace locus
