// SPDX-License-Identifier: Apache-2.0
// complex<float> and complex<double>: two numbers in memory, as std::complex keeps them.
#pragma once
#include <type_traits>  // is_arithmetic

#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE
#include <locus/shape/complex_kind.hpp>  // is_complex_v, complex_elsewhere

namespace locus {

/// means: re + i im, with operators for host and GPU; converts from and to std::complex<T>,
///        cuda::std::complex<T> and thrust::complex<T>
/// shape: 2 T in memory, the real part first: a pointer to one of these types may be cast to a
///        pointer to another
/// cost:  a product is four multiplications, without C's repair of NaN results; a quotient scales by
///        the larger part of the divisor
/// after: the layout of ISO C++ [complex.numbers]; the quotient of Smith, CACM 5 (1962)
template <class T>
struct [[gnu::may_alias]] complex {
  using value_type = T;
  T re, im;

  complex() = default;
  LOCUS_HOST_DEVICE constexpr complex(T real_part, T imaginary_part = T(0))
      : re(real_part), im(imaginary_part) {}
  template <class Number>
    requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, T>)
  LOCUS_HOST_DEVICE constexpr complex(Number real_part) : re(static_cast<T>(real_part)), im(T(0)) {}
  template <class U>
    requires(!std::is_same_v<U, T>)
  LOCUS_HOST_DEVICE constexpr explicit(sizeof(U) > sizeof(T)) complex(complex<U> c)
      : re(static_cast<T>(c.re)), im(static_cast<T>(c.im)) {}
  template <internal::complex_elsewhere<T> C>
  constexpr complex(C const& c) : re(c.real()), im(c.imag()) {}
  template <internal::complex_elsewhere<T> C>
  constexpr operator C() const {
    return C(re, im);
  }

  LOCUS_HOST_DEVICE constexpr T real() const { return re; }
  LOCUS_HOST_DEVICE constexpr T imag() const { return im; }

  LOCUS_HOST_DEVICE friend constexpr complex operator+(complex a, complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator-(complex a, complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator-(complex a) { return {-a.re, -a.im}; }
  LOCUS_HOST_DEVICE friend constexpr complex operator+(complex a, T b) { return {a.re + b, a.im}; }
  LOCUS_HOST_DEVICE friend constexpr complex operator+(T a, complex b) { return {a + b.re, b.im}; }
  LOCUS_HOST_DEVICE friend constexpr complex operator-(complex a, T b) { return {a.re - b, a.im}; }
  LOCUS_HOST_DEVICE friend constexpr complex operator-(T a, complex b) { return {a - b.re, -b.im}; }
  LOCUS_HOST_DEVICE friend constexpr complex operator*(complex a, T b) {
    return {a.re * b, a.im * b};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator*(T a, complex b) {
    return {a * b.re, a * b.im};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator/(complex a, T b) {
    return {a.re / b, a.im / b};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  LOCUS_HOST_DEVICE friend constexpr complex operator/(complex a, complex b) {
    T const wide = b.re < T(0) ? -b.re : b.re, high = b.im < T(0) ? -b.im : b.im;
    if (wide >= high) {
      T const ratio = wide == T(0) ? T(0) : b.im / b.re, by = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / by, (a.im - a.re * ratio) / by};
    }
    T const ratio = b.re / b.im, by = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / by, (a.im * ratio - a.re) / by};
  }
  LOCUS_HOST_DEVICE constexpr complex& operator+=(complex b) { return *this = *this + b; }
  LOCUS_HOST_DEVICE constexpr complex& operator-=(complex b) { return *this = *this - b; }
  LOCUS_HOST_DEVICE constexpr complex& operator*=(complex b) { return *this = *this * b; }
  LOCUS_HOST_DEVICE constexpr complex& operator/=(complex b) { return *this = *this / b; }
  LOCUS_HOST_DEVICE friend constexpr bool operator==(complex a, complex b) {
    return a.re == b.re && a.im == b.im;
  }
};
/// means: (re,im), as std::complex prints
template <class Stream, class T>
  requires requires(Stream& s) { s.write("", 0); }
Stream& operator<<(Stream& out, complex<T> const& z) {
  out << '(' << z.re << ',' << z.im << ')';
  return out;
}

}  // namespace locus
