// SPDX-License-Identifier: Apache-2.0
// Transforms as sums in long double, random lines, and how far two results are apart.
#pragma once
#include <cmath>
#include <complex>
#include <oracle.hpp>
#include <vector>

#include <locus/fft/roots.hpp>
#include <locus/shape/complex.hpp>

namespace transforms {

using wide = std::complex<long double>;
using lines = std::vector<wide>;  // (outer, n, inner)

/// exp(-2 pi i k / n), by the functions of the C library alone
inline wide root(std::int64_t k, std::int64_t n) {
  long double const angle = -6.283185307179586476925286766559005768L *
                            static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}
/// number k of a transform of line (o, c)
inline wide number_of(lines const& x, std::int64_t o, std::int64_t c, std::int64_t n,
                      std::int64_t inner, std::int64_t k, bool inverse) {
  wide sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    wide const w = root(j * k, n), value = x[std::size_t((o * n + j) * inner + c)];
    sum += value * (inverse ? std::conj(w) : w);
  }
  return inverse ? sum / static_cast<long double>(n) : sum;
}
template <class T>
wide wide_of(T const& x) {
  if constexpr (locus::is_complex_v<T>)
    return {x.re, x.im};
  else
    return x;
}
template <class T>
lines lines_of(std::vector<T> const& x) {
  lines v;
  for (T const& one : x) v.push_back(wide_of(one));
  return v;
}
template <class X>
lines values_of(X const& x) {
  lines v(std::size_t(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) v[std::size_t(i)] = wide_of(x.data()[i]);
  return v;
}
/// the distance of two lists, of the length of the second
inline double distance(lines const& a, lines const& b) {
  long double apart = 0, size = 0;
  for (std::size_t k = 0; k < b.size(); ++k)
    apart += std::norm(a[k] - b[k]), size += std::norm(b[k]);
  return static_cast<double>(std::sqrt(apart / (size > 0 ? size : 1)));
}
template <class T>
void fill(T* x, std::int64_t n, std::uint64_t seed) {
  oracle::random r(seed);
  for (std::int64_t k = 0; k < n; ++k) x[k] = T(r.value<double>(-1, 1));
}
template <class T>
void fill(locus::complex<T>* x, std::int64_t n, std::uint64_t seed) {
  fill(reinterpret_cast<T*>(x), 2 * n, seed);
}
/// the error that is allowed: a few roundings for each factor of n
template <class T>
double allowed(std::int64_t n) {
  return double(std::numeric_limits<T>::epsilon()) * (1 + 0.4 * std::log2(double(n)));
}

}  // namespace transforms
