// SPDX-License-Identifier: Apache-2.0
// Random lists of triplets of many shapes, and products by plain loops in long double.
#pragma once
#include <cmath>
#include <oracle.hpp>
#include <vector>

#include <locus/locus.hpp>
#include <locus/sparse/from_lists.hpp>
#include <locus/sparse/matmul.hpp>

namespace sparse_lists {

using namespace locus;
using plain = std::vector<long double>;  // rows first

/// How the entries of a list lie.
enum class kind { none, few, many, one_dense_row, empty_rows, one_column, doubled };
inline constexpr kind all_kinds[] = {kind::none,          kind::few,        kind::many,
                                     kind::one_dense_row, kind::empty_rows, kind::one_column,
                                     kind::doubled};
inline constexpr std::int64_t all_sizes[][2] = {{0, 0},  {0, 5},   {5, 0},   {1, 1},   {1, 40},
                                                {40, 1}, {31, 33}, {33, 31}, {7, 257}, {300, 20}};

template <class T>
std::vector<sparse::triplet<T>> random_list(std::int64_t rows, std::int64_t columns, kind how,
                                            std::uint64_t seed) {
  std::vector<sparse::triplet<T>> list;
  if (rows == 0 || columns == 0 || how == kind::none) return list;
  oracle::random r(seed);
  auto const below = [&](std::int64_t n) {
    return std::min(n - 1, static_cast<std::int64_t>(r.real(0, double(n))));
  };
  std::int64_t const n = how == kind::few ? rows / 2 + 1 : 6 * rows;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t row = below(rows), column = below(columns);
    if (how == kind::empty_rows) row = row / 3 * 3;
    if (how == kind::one_column) column = columns - 1;
    list.push_back({row, column, static_cast<T>(r.real(-1, 1))});
    if (how == kind::doubled) list.push_back({row, column, static_cast<T>(r.real(-1, 1))});
  }
  if (how == kind::one_dense_row)
    for (std::int64_t c = columns; c-- > 0;)
      list.push_back({rows / 2, c, static_cast<T>(r.real(-1, 1))});
  return list;
}
template <class T>
plain dense_of(std::int64_t rows, std::int64_t columns,
               std::vector<sparse::triplet<T>> const& list) {
  plain d(std::size_t(rows * columns));
  for (auto const& t : list) d[std::size_t(t.row * columns + t.column)] += t.value;
  return d;
}
template <class X>
plain values_of(X const& x) {
  auto const host = to<CpuDevice>(x);
  plain v;
  for (std::int64_t i = 0; i < host.size(); ++i) v.push_back(host.data()[i]);
  return v;
}
template <class T, int Rank>
Tensor<T, Dextents<Rank>> random(Dextents<Rank> const& extents, std::uint64_t seed) {
  Tensor<T, Dextents<Rank>> x(extents);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<T>(r.real(-1, 1));
  return x;
}
/// a (n, m) times b (m, p); `turned`: at (m, n) times b (n, p)
inline plain product(plain const& a, plain const& b, std::int64_t n, std::int64_t m, std::int64_t p,
                     bool turned = false) {
  plain r(std::size_t((turned ? m : n) * p));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      for (std::int64_t k = 0; k < p; ++k)
        r[std::size_t((turned ? j : i) * p + k)] +=
            a[std::size_t(i * m + j)] * b[std::size_t((turned ? i : j) * p + k)];
  return r;
}
/// the largest difference; infinity where lengths differ or a number is NaN
inline long double distance(plain const& a, plain const& b) {
  if (a.size() != b.size()) return INFINITY;
  long double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    long double const d = std::fabs(a[i] - b[i]);
    most = std::isnan(d) ? INFINITY : std::fmax(most, d);
  }
  return most;
}
/// a product in double, rounded to T: `terms` products of numbers below 1
template <class T>
long double bound(std::int64_t terms) {
  auto const n = static_cast<long double>(terms + 1);
  return n * (std::numeric_limits<T>::epsilon() + n * std::numeric_limits<double>::epsilon());
}

}  // namespace sparse_lists
