// SPDX-License-Identifier: Apache-2.0
// Random matrices, products in long double, and how far two results are apart.
#pragma once
#include <cmath>
#include <oracle.hpp>
#include <vector>

#include <locus/locus.hpp>

namespace matrices {

using plain = std::vector<long double>;  // rows first

template <class X>
plain values_of(X const& x) {
  plain v(std::size_t(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i)
    v[std::size_t(i)] = static_cast<long double>(x.data()[i]);
  return v;
}
/// the k-th matrix of a batch
inline plain matrix_of(plain const& all, std::int64_t k, std::int64_t size) {
  return plain(all.begin() + k * size, all.begin() + (k + 1) * size);
}
/// a (n, m) times b (m, p), or the transposed of b (p, m)
inline plain product(plain const& a, plain const& b, std::int64_t n, std::int64_t m, std::int64_t p,
                     bool turned = false) {
  plain r(std::size_t(n * p));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < p; ++j)
      for (std::int64_t k = 0; k < m; ++k)
        r[std::size_t(i * p + j)] +=
            a[std::size_t(i * m + k)] * b[std::size_t(turned ? j * m + k : k * p + j)];
  return r;
}
inline long double largest(plain const& a) {
  long double most = 0;
  for (auto v : a) most = std::isnan(v) ? v : std::fmax(most, std::fabs(v));
  return most;
}
inline long double distance(plain const& a, plain const& b) {
  if (a.size() != b.size()) return INFINITY;
  plain d(a);
  for (std::size_t i = 0; i < a.size(); ++i) d[i] -= b[i];
  for (auto v : d)
    if (std::isnan(v)) return INFINITY;
  return largest(d);
}
template <class T, class E>
void fill(locus::Tensor<T, E>& x, std::uint64_t seed) {
  oracle::random r(seed);
  for (T& v : x) v = static_cast<T>(r.real(-1, 1));
}
/// m mt + n, for each matrix: positive definite
template <class T>
locus::Tensor<T, locus::Dextents<3>> positive(std::int64_t all, std::int64_t n,
                                              std::uint64_t seed) {
  locus::Tensor<T, locus::Dextents<3>> m(all, n, n), a(all, n, n);
  fill(m, seed);
  auto const values = values_of(m);
  for (std::int64_t k = 0; k < all; ++k) {
    plain const one = matrix_of(values, k, n * n), square = product(one, one, n, n, n, true);
    for (std::int64_t i = 0; i < n * n; ++i)
      a.data()[k * n * n + i] =
          static_cast<T>(square[std::size_t(i)] + (i % (n + 1) == 0 ? 0.5L : 0));
  }
  return a;
}

/// how far the columns of a (n, k) are from orthonormal ones
inline long double skew(plain const& a, std::int64_t n, std::int64_t k) {
  long double most = 0;
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      long double sum = i == j ? -1 : 0;
      for (std::int64_t r = 0; r < n; ++r)
        sum += a[std::size_t(r * k + i)] * a[std::size_t(r * k + j)];
      most = std::isnan(sum) ? INFINITY : std::fmax(most, std::fabs(sum));
    }
  return most;
}
inline plain turned(plain const& a, std::int64_t rows, std::int64_t columns) {
  plain t(a.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      t[std::size_t(j * rows + i)] = a[std::size_t(i * columns + j)];
  return t;
}
/// random matrices; the last one has rank 1, the one before it is 0
template <class T>
locus::Tensor<T, locus::Dextents<3>> various(std::int64_t m, std::int64_t n, std::uint64_t seed) {
  locus::Tensor<T, locus::Dextents<3>> a(4, m, n);
  fill(a, seed);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      a(2, i, j) = T(0);
      if (i > 0) a(3, i, j) = a(3, 0, j) * T(i % 3);
    }
  return a;
}

}  // namespace matrices
