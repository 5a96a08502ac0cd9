// SPDX-License-Identifier: Apache-2.0
// Host folds beside plain loops: element types, axes and tails; the same bits for any number of
// threads; NaN.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <oracle.hpp>
#include <worst_of.hpp>

#include <locus/complex.hpp>
#include <locus/locus.hpp>
#include <locus/ops/statistics.hpp>

using namespace locus;

namespace {

template <class T>
void fold_all_ways(std::int64_t rows, std::int64_t columns) {
  CAPTURE(rows);
  CAPTURE(columns);
  using Each = Dextents<1>;
  Tensor<T, Dextents<2>, CpuDevice> x(Dextents<2>{rows, columns});
  Tensor<T, Each, CpuDevice> most(Each{columns}), least(Each{rows});
  Tensor<sum_t<T>, Each, CpuDevice> by_columns(Each{columns}), by_rows(Each{rows});
  Tensor<std::int64_t, Each, CpuDevice> first(Each{rows}), first_row(Each{columns});
  oracle::random draw(static_cast<unsigned>(rows * 100 + columns));
  for (std::int64_t k = 0; k < rows * columns; ++k) x.data()[k] = draw.value<T>(-100, 100);
  by_columns = sum<0>(x), by_rows = sum<1>(x), most = max<0>(x), least = min<1>(x);
  first = argmax<1>(x), first_row = argmax<0>(x);
  int wrong = 0;
  auto const line = [&](std::int64_t begin, std::int64_t step, std::int64_t n, sum_t<T> got,
                        std::int64_t at, T extreme, bool largest) {
    long double sum = 0, all = 0;
    std::int64_t best = 0;
    T edge = x.data()[begin];
    for (std::int64_t j = 0; j < n; ++j) {
      T const v = x.data()[begin + j * step];
      sum += static_cast<long double>(v), all += std::fabs(static_cast<long double>(v));
      if (v > x.data()[begin + best * step]) best = j;
      if (largest ? v > edge : v < edge) edge = v;
    }
    wrong += !(std::fabs(static_cast<long double>(got) - sum) <= 2e-7L * all);
    wrong += at != best;
    wrong += extreme != edge;
  };
  for (std::int64_t i = 0; i < rows; ++i)
    line(i * columns, 1, columns, by_rows.data()[i], first.data()[i], least.data()[i], false);
  for (std::int64_t j = 0; j < columns; ++j)
    line(j, columns, rows, by_columns.data()[j], first_row.data()[j], most.data()[j], true);
  CHECK(wrong == 0);
}

/// folds of rows of n elements, each of which belongs to a point and to a center: operands are
/// broadcast along either, or lie behind one another in the other order
template <class T>
void fold_short_rows(std::int64_t points, std::int64_t centers, std::int64_t n, bool with_nan) {
  CAPTURE(points);
  CAPTURE(centers);
  CAPTURE(n);
  using Matrix = Tensor<T, Dextents<2>, CpuDevice>;
  Matrix x(points, n), across(n, points), wide(points, 2 * n), c(centers, n);
  oracle::random draw(static_cast<unsigned>(points * 100 + centers * 10 + n));
  for (Matrix* m : {&x, &across, &wide, &c})
    for (std::int64_t k = 0; k < m->size(); ++k) m->data()[k] = draw.value<T>(-4, 4);
  if constexpr (is_floating_v<T>)
    if (with_nan)
      for (std::int64_t k = 0; k < 5; ++k) x.data()[k * 7 % x.size()] = T(NAN);
  Tensor<sum_t<T>, Dextents<2>, CpuDevice> apart(points, centers);
  Tensor<std::int64_t, Dextents<1>, CpuDevice> first(points), other(points), strided(points),
      nearest(points);
  Tensor<T, Dextents<1>, CpuDevice> most(points);
  apart = sum<2>(square(expand_dims<1>(x) - expand_dims<0>(c)));
  first = argmax<1>(x), other = argmax<0>(across),
  strided = argmax<1>(slice(wide, all_of, {0, 2 * n, 2}));
  nearest = argmax<1>(T(3) - abs(apart));
  most = max<1>(x + transpose(across));
  int wrong = 0;
  auto const differs = [](long double got, long double wanted, long double all) {
    return std::isnan(wanted) ? !std::isnan(got) : !(std::fabs(got - wanted) <= 2e-7L * all);
  };
  auto const place = [](std::int64_t size, auto value) {
    std::int64_t best = 0;
    for (std::int64_t j = 0; j < size; ++j) {
      if (value(j) != value(j)) return j;
      if (value(j) > value(best)) best = j;
    }
    return best;
  };
  for (std::int64_t i = 0; i < points; ++i) {
    for (std::int64_t k = 0; k < centers; ++k) {
      long double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        T const d = static_cast<T>(x(i, j) - c(k, j));
        sum += static_cast<long double>(d) * static_cast<long double>(d);
      }
      wrong += differs(static_cast<long double>(apart(i, k)), sum, sum + 1e-30L);
    }
    wrong += first(i) != place(n, [&](auto j) { return x(i, j); });
    wrong += other(i) != place(n, [&](auto j) { return across(j, i); });
    wrong += strided(i) != place(n, [&](auto j) { return wide(i, 2 * j); });
    wrong += nearest(i) != place(centers, [&](auto k) { return T(3) - std::abs(apart(i, k)); });
    std::int64_t const top =
        place(n, [&](auto j) { return static_cast<T>(x(i, j) + across(j, i)); });
    wrong += differs(static_cast<long double>(most(i)),
                     static_cast<long double>(static_cast<T>(x(i, top) + across(top, i))), 0);
  }
  CHECK(wrong == 0);
}

struct threads {
  explicit threads(int n) { runtime::thread_limit = n; }
  ~threads() { runtime::thread_limit = 0; }
};

/// a kernel of sums alone turns short rows over; one that stores elements, and one that reads the
/// sum of a row again, fold row after row: the sums have the same bits
template <class T>
void same_bits_in_every_kernel() {
  using Matrix = Tensor<T, Dextents<2>, CpuDevice>;
  using Each = Tensor<T, Dextents<1>, CpuDevice>;
  for (std::int64_t const rows : {1, 3, 70})
    for (std::int64_t n = 1; n <= 18; ++n) {
      CAPTURE(rows);
      CAPTURE(n);
      Matrix x(rows, n), doubled(rows, n), moved(rows, n);
      oracle::random draw(static_cast<unsigned>(rows * 100 + n));
      for (std::int64_t k = 0; k < rows * n; ++k) x.data()[k] = draw.value<T>(-1, 1);
      Each const alone = sum<1>(x + x);
      Each beside(rows);
      run(plan(into(doubled, x + x), into(beside, sum<1>(x + x))));
      CHECK(std::memcmp(beside.data(), alone.data(), std::size_t(rows) * sizeof(T)) == 0);
      moved = x + sum<1>(x + x, keep_dims);
      bool same = true;
      for (std::int64_t k = 0; k < rows * n; ++k) {
        T const expected = x.data()[k] + alone.data()[k / n];
        same = same && std::memcmp(&moved.data()[k], &expected, sizeof(T)) == 0;
      }
      CHECK(same);
    }
}

}  // namespace

TEST_CASE("folds of rows, of columns and their places: blocks, tails, one element") {
  constexpr std::int64_t sizes[][2] = {{1, 1},      {1, 17},     {3, 5},     {7, 64},   {70, 131},
                                       {129, 1025}, {300, 2050}, {1, 70001}, {2500, 3}, {5000, 40}};
  for (auto const& s : sizes) {
    fold_all_ways<float>(s[0], s[1]);
    fold_all_ways<double>(s[0], s[1]);
    fold_all_ways<std::int32_t>(s[0], s[1]);
  }
}

TEST_CASE("columns of a matrix that the caches do not hold: lines far apart and side by side") {
  std::int64_t const bytes =
      std::min<std::int64_t>(runtime::last_level_cache() + (1 << 20), 64 << 20);
  fold_all_ways<float>(bytes / 4 / 1100, 1100);     // a group of 1024 columns, and 76 more
  fold_all_ways<float>(bytes / 4 / 1300, 1300);     // a tail of 4 behind whole packets
  fold_all_ways<double>(bytes / 8 / 100 + 1, 100);  // one line after another
}

TEST_CASE(
    "short rows, which are folded side by side: broadcast, transposed, with a step; ties, NaN") {
  constexpr std::int64_t sizes[][3] = {{1, 1, 1},    {7, 9, 2},    {8, 8, 3},    {65, 16, 8},
                                       {130, 7, 15}, {70, 23, 16}, {70, 8, 17},  {1000, 3, 5},
                                       {3, 200, 4},  {64, 64, 12}, {201, 32, 8}, {77, 20, 7},
                                       {500, 17, 5}};
  for (auto const& s : sizes)
    for (bool const with_nan : {false, true}) {
      fold_short_rows<float>(s[0], s[1], s[2], with_nan);
      fold_short_rows<double>(s[0], s[1], s[2], with_nan);
      fold_short_rows<std::int32_t>(s[0], s[1], s[2], with_nan);
      fold_short_rows<std::int64_t>(s[0], s[1], s[2], with_nan);
    }
}

TEST_CASE(
    "short rows of few neighbours stand beside those of the next place, which may be the last") {
  using Cube = Tensor<float, Dextents<3>, CpuDevice>;
  for (std::int64_t const centers : {16, 19, 30, 32})
    for (std::int64_t const points : {1, 2, 3, 5, 9}) {
      CAPTURE(centers);
      CAPTURE(points);
      Cube x(9, 11, 8), all(9, points, centers);
      Tensor<float, Dextents<2>, CpuDevice> c(centers, 8);
      oracle::random draw(static_cast<unsigned>(centers * 10 + points));
      for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = draw.value<float>(-1, 1);
      for (std::int64_t k = 0; k < c.size(); ++k) c.data()[k] = draw.value<float>(-1, 1);
      all = sum<3>(expand_dims<2>(slice(x, {0, 9}, {1, 1 + points}, {0, 8})) -
                   expand_dims<0>(expand_dims<0>(c)));
      Tensor<float, Dextents<1>, CpuDevice> row(8);
      Tensor<float, Extents<>, CpuDevice> one;
      std::int64_t wrong = 0;
      for (std::int64_t a = 0; a < 9; ++a)
        for (std::int64_t b = 0; b < points; ++b)
          for (std::int64_t k = 0; k < centers; ++k) {
            for (std::int64_t j = 0; j < 8; ++j) row.data()[j] = x(a, b + 1, j) - c(k, j);
            one = sum(row);
            wrong += *one.data() != all(a, b, k);
          }
      CHECK(wrong == 0);
    }
}

TEST_CASE("a sum of a short row has the same bits for any number of threads, and beside any rows") {
  constexpr std::int64_t rows = 20'000, n = 11;
  Tensor<float, Dextents<2>, CpuDevice> x(rows, n);
  Tensor<float, Dextents<1>, CpuDevice> one(rows), several(rows), part(rows - 5);
  oracle::random draw(10);
  for (std::int64_t k = 0; k < rows * n; ++k) x.data()[k] = draw.value<float>(-1, 1);
  {
    threads const alone(1);
    one = sum<1>(square(x) - x);
  }
  {
    threads const three(3);
    several = sum<1>(square(x) - x);
  }
  CHECK(bool(equal(one, several)));
  part = sum<1>(square(slice(x, {5, rows})) - slice(x, {5, rows}));
  CHECK(bool(equal(slice(one, {5, rows}), part)));
  for (std::int64_t const few : {1, 3, 9}) {
    Tensor<float, Dextents<1>, CpuDevice> some(few);
    some = sum<1>(square(slice(x, {7, 7 + few})) - slice(x, {7, 7 + few}));
    CHECK(bool(equal(slice(one, {7, 7 + few}), some)));
  }
}

TEST_CASE("the sum of a short row has the same bits in every kernel") {
  same_bits_in_every_kernel<float>();
  same_bits_in_every_kernel<double>();
  same_bits_in_every_kernel<complex<float>>();
}

namespace {
/// the elements of two arrays that differ in bits
template <class A, class B>
int different(A const& a, B const& b) {
  int n = 0;
  for (std::int64_t k = 0; k < a.size(); ++k)
    n += std::memcmp(a.data() + k, b.data() + k, sizeof *a.data()) != 0;
  return n;
}

/// means: several folds of a row, and a value for each element or for the row: each row has the bits
///        that the row has alone, in passes over several rows, into its own operand, with steps
template <class T>
void rows_alone_and_together(std::int64_t m, std::int64_t n) {
  CAPTURE(m);
  CAPTURE(n);
  using Matrix = Tensor<T, Dextents<2>, CpuDevice>;
  using Each = Tensor<T, Dextents<1>, CpuDevice>;
  Matrix x(m, n), y(m, n), alone(m, n), wide(m, n + 3), turned(n, m), logs(m, n), logs_alone(m, n);
  Each spread(m), spread_alone(m);
  oracle::random draw(static_cast<unsigned>(m * 1000 + n));
  for (std::int64_t k = 0; k < m * n; ++k) x.data()[k] = draw.value<T>(-9, 9);
  y = softmax(x), spread = var<1>(x), logs = log_softmax(2.f * x - T(1));
  for (std::int64_t r = 0; r < m; ++r) {
    Matrix row(1, n), result(1, n);
    Each one(1);
    row = slice(x, {r, r + 1});
    result = softmax(row), one = var<1>(row);
    slice(alone, {r, r + 1}) = result;
    slice(spread_alone, {r, r + 1}) = one;
    result = log_softmax(2.f * row - T(1));
    slice(logs_alone, {r, r + 1}) = result;
  }
  CHECK(different(y, alone) == 0);
  CHECK(different(logs, logs_alone) == 0);
  CHECK(different(spread, spread_alone) == 0);
  y = x, y = softmax(y);  // into its operand
  CHECK(different(y, alone) == 0);
  wide = zeros<T>(wide.extents());
  slice(wide, {0, m}, {1, n + 1}) = x;
  y = softmax(slice(wide, {0, m}, {1, n + 1}));
  CHECK(different(y, alone) == 0);
  slice(wide, {0, m}, {2, n + 2}) = softmax(x);  // rows of the result are apart
  y = slice(wide, {0, m}, {2, n + 2});
  CHECK(different(y, alone) == 0);
  turned = transpose(x);
  y = softmax(transpose(turned));
  CHECK(different(y, alone) == 0);
  turned = transpose(softmax(x));
  y = transpose(turned);
  CHECK(different(y, alone) == 0);
  Tensor<T, Dextents<3>, CpuDevice> deep(2, m, n), of_deep(2, m, n);
  deep = expand_dims<0>(x) + zeros<T>(deep.extents());
  of_deep = softmax(deep);
  for (std::int64_t k = 0; k < 2; ++k) {
    y = reshape(slice(of_deep, {k, k + 1}), x.extents());
    CHECK(different(y, alone) == 0);
  }
}
}  // namespace

TEST_CASE("a row of several folds has the same bits alone and in passes over several rows") {
  for (std::int64_t const n :
       {1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 23, 31, 32, 33, 64, 100, 129, 260, 3000})
    for (std::int64_t const m : {1, 2, 15, 16, 17, 40}) {
      rows_alone_and_together<float>(m, n);
      if (n <= 33) rows_alone_and_together<double>(m, n);
    }
}

TEST_CASE("a row of several folds, into its operand, beside plain loops") {
  for (std::int64_t const n : {3, 10, 16, 21, 40, 200}) {
    constexpr std::int64_t m = 37;
    Tensor<float, Dextents<2>, CpuDevice> x(m, n), y(m, n);
    oracle::random draw(static_cast<unsigned>(n));
    for (std::int64_t k = 0; k < m * n; ++k) x.data()[k] = draw.value<float>(-9, 9);
    y = x, y = softmax(y);
    double worst = 0;
    for (std::int64_t r = 0; r < m; ++r) {
      long double most = -INFINITY, all = 0;
      for (std::int64_t j = 0; j < n; ++j) most = std::fmax(most, (long double)(x(r, j)));
      for (std::int64_t j = 0; j < n; ++j) all += std::exp((long double)(x(r, j))-most);
      for (std::int64_t j = 0; j < n; ++j)
        worst = worst_of(worst,
                         double(std::abs(y(r, j) - std::exp((long double)(x(r, j))-most) / all)));
    }
    CHECK(worst < 2e-7);
  }
}

TEST_CASE("a sum has the same bits for any number of threads; the first NaN is the largest") {
  constexpr std::int64_t n = 300'000;
  Tensor<float, Dextents<1>, CpuDevice> x(Dextents<1>{n});
  Tensor<float, Extents<>, CpuDevice> one, several, most;
  Tensor<std::int64_t, Extents<>, CpuDevice> at;
  oracle::random draw(9);
  for (std::int64_t k = 0; k < n; ++k) x.data()[k] = draw.value<float>(-1, 1);
  {
    threads const alone(1);
    one = sum(square(x) - x);
  }
  for (int count : {2, 3, 7}) {
    threads const some(count);
    several = sum(square(x) - x);
    CHECK(*several.data() == *one.data());
  }
  x.data()[200'000] = x.data()[250'000] = std::numeric_limits<float>::quiet_NaN();
  at = argmax(x), most = max(x);
  CHECK(*at.data() == 200'000);
  CHECK(std::isnan(*most.data()));
}
