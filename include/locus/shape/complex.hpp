// SPDX-License-Identifier: Apache-2.0
// complex<float> and complex<double>: two numbers in memory, as std::complex keeps them.
#pragma once
#include <type_traits>  // is_arithmetic

#include <locus/core/macros.hpp>             // LOCUS_HOST_DEVICE
#include <locus/shape/complex_kind.hpp>      // is_complex_v, complex_elsewhere
#include <locus/shape/complex_quotient.hpp>  // quotient_limits, rare_quotient

namespace locus {

/// means: re + i im, with operators for host and GPU; converts from and to std::complex<T>,
///        cuda::std::complex<T> and thrust::complex<T>
/// shape: 2 T in memory, the real part first: a pointer to one of these types may be cast to a
///        pointer to another
/// cost:  a product is four multiplications, without C's repair of NaN results; a quotient scales by
///        the larger part of the divisor, and by powers of two where a step would underflow or overflow
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
    using limits = internal::quotient_limits<T>;
    using bits = typename limits::bits;  // in the order of the absolute values
    auto const size = [](T x) {
      return static_cast<bits>(__builtin_bit_cast(bits, x) & static_cast<bits>(-1) >> 1);
    };
    bits const wide = size(b.re), high = size(b.im), x = size(a.re), y = size(a.im);
    bool const turned = wide < high;
    T const larger = turned ? b.im : b.re, smaller = turned ? b.re : b.im, ratio = smaller / larger;
    bits const of_a = x < y ? y : x, of_b = turned ? high : wide, rest = turned ? wide : high,
               r = size(ratio);
    bool const fits = ((of_a < r ? of_a : r) >= size(limits::low)) | (of_a == 0) | (rest == 0);
    if (fits && of_b >= size(limits::low_divisor) &&
        ((of_a < of_b ? of_b : of_a) <= size(limits::high))) {
      T const by = larger + smaller * ratio;
      if (turned) return {(a.re * ratio + a.im) / by, (a.im * ratio - a.re) / by};
      return {(a.re + a.im * ratio) / by, (a.im - a.re * ratio) / by};
    }
    auto const q = internal::rare_quotient(a.re, a.im, b.re, b.im);
    return {q.re, q.im};
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
