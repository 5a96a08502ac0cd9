// SPDX-License-Identifier: Apache-2.0
// Statements of slices on a CPU, which need no arrays of a plan: random ranges, rows that repeat, destinations that
// overlap their operands, and errors, beside loops.
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>
#include <message_of.hpp>
#include <random>

namespace statement_of_parts_test {

using namespace locus;

namespace parts {

template <class T>
using Grid = Tensor<T, Dextents<2>>;

/// a random part of one axis of n elements, ends counted from both sides
struct draw {
  std::mt19937 engine;
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine);
  }
  /// [begin, begin + length) of n, where length is given
  range part(std::int64_t n, std::int64_t length) {
    std::int64_t const begin = below(n - length + 1), end = begin + length;
    if (end == n && below(2) == 0) return {begin, range::to_end};
    return {below(2) == 0 && begin > 0 && begin < n ? begin - n : begin,
            end < n && below(2) == 0 ? end - n : end};
  }
};
std::int64_t begin_of(range const& r, std::int64_t n) { return range::absolute(r.begin, n); }

template <class T>
Grid<T> drawn(std::int64_t rows, std::int64_t columns, unsigned seed) {
  return Grid<T>(cast<T>(uniform<float>(dextents<2>(rows, columns), locus::seed{seed}, 0.f, 99.f)));
}

template <class T>
void check_random(unsigned seed) {
  draw d{std::mt19937(seed)};
  for (int round = 0; round < 200; ++round) {
    std::int64_t const m = 1 + d.below(20), n = 1 + d.below(20);
    std::int64_t const rows = d.below(m + 1), columns = d.below(n + 1);
    Grid<T> const x = drawn<T>(m, n, seed), y = drawn<T>(m, n, seed + 1);
    Tensor<T, Dextents<1>> const line(
        cast<T>(uniform<float>(dextents<1>(n), locus::seed{3}, 0.f, 9.f)));
    Grid<T> z = drawn<T>(m, n, seed + 2);
    Grid<T> const before(z);
    range const xr = d.part(m, rows), xc = d.part(n, columns), yr = d.part(m, rows),
                yc = d.part(n, columns), zr = d.part(m, rows), zc = d.part(n, columns),
                lc = d.part(n, columns);
    tally const done = testing::count(
        [&] { slice(z, zr, zc) = slice(x, xr, xc) + slice(y, yr, yc) * T(2) + slice(line, lc); });
    CHECK(done.launches <= 1);
    Grid<T> again(before);
    slice(again, zr, zc) = slice(x, xr, xc) + slice(y, yr, yc) * T(2) + slice(line, lc);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t const a = i - begin_of(zr, m), b = j - begin_of(zc, n);
        bool const inside = a >= 0 && a < rows && b >= 0 && b < columns;
        T const wanted = inside ? T(x(begin_of(xr, m) + a, begin_of(xc, n) + b) +
                                    T(y(begin_of(yr, m) + a, begin_of(yc, n) + b) * T(2)) +
                                    line(begin_of(lc, n) + b))
                                : before(i, j);
        REQUIRE(again(i, j) == wanted);
        REQUIRE(z(i, j) == wanted);
      }
    Grid<T> const made = eval(slice(x, xr, xc) - slice(y, yr, yc));
    REQUIRE(made.extent(0) == rows);
    for (std::int64_t a = 0; a < rows; ++a)
      for (std::int64_t b = 0; b < columns; ++b)
        REQUIRE(made(a, b) == T(x(begin_of(xr, m) + a, begin_of(xc, n) + b) -
                                y(begin_of(yr, m) + a, begin_of(yc, n) + b)));
  }
}

}  // namespace parts

using namespace parts;

TEST_CASE_TEMPLATE("random parts of both axes", T, float, double, std::int32_t) {
  check_random<T>(1);
}

TEST_CASE("a part that is written may be read: in place, moved, and across") {
  Tensor<double, Dextents<1>> x(cast<double>(iota<std::int64_t>(dextents<1>(12))));
  slice(x, {1, -1}) = slice(x, {1, -1}) * 2.;  // in place
  for (int i = 1; i < 11; ++i) CHECK(x(i) == 2. * i);
  slice(x, {1, 12}) = slice(x, {0, 11}) + 1.;  // each from the one before, as it was
  CHECK(x(1) == 1.);
  for (int i = 2; i < 12; ++i) CHECK(x(i) == 2. * (i - 1) + 1.);
  slice(x, {0, 6}) = slice(x, {6, 12}) + slice(x, {0, 6}) * 0.;
  for (int i = 0; i < 6; ++i) CHECK(x(i) == x(i + 6));
}

TEST_CASE("operands that repeat, ends that the type knows, views with gaps") {
  Grid<double> x = drawn<double>(7, 9, 4);
  Grid<double> const row = drawn<double>(1, 9, 5), wide = drawn<double>(8, 9, 6);
  Grid<double> z(7, 5);
  z = slice<1, 2, -2>(x) * slice(row, all_of, {2, -2});  // one row for all
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 5; ++j) CHECK(z(i, j) == x(i, j + 2) * row(0, j + 2));
  auto const every = view<CpuDevice>(wide.data(), Dextents<2>(4, 9), layout_stride{{18, 1}});
  Grid<double> half(2, 9);
  half = slice(every, {1, 3}) + 1.;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 9; ++j) CHECK(half(i, j) == wide(2 * (i + 1), j) + 1.);
  Grid<double> const inner(interior<1>(x) - interior<1, -1, 0>(x));
  CHECK(inner(0, 0) == x(1, 1) - x(0, 1));
  Grid<double> const none(slice(x, {3, 3}) * 2.);
  CHECK(none.size() == 0);
}

TEST_CASE("ranges and extents that do not fit are refused, and nothing is written") {
  Tensor<double, Dextents<1>> x(cast<double>(iota<std::int64_t>(dextents<1>(8)))), y(x);
  auto const wrong = [&](std::int64_t begin, std::int64_t end) {
    return message_of<shape_error>([&] { y = slice(x, {begin, end}) * 2.; });
  };
  CHECK(wrong(2, 9).find("takes the range from 2 to 9 of axis 0") != std::string::npos);
  CHECK(wrong(-9, 4).find("it must lie inside its axis") != std::string::npos);
  CHECK_FALSE(message_of<shape_error>([&] { y = slice(x, {0, 5}) + slice(x, {0, 6}); }).empty());
  CHECK_FALSE(message_of<shape_error>([&] { slice(y, {0, 3}) = slice(x, {0, 5}) * 1.; }).empty());
  for (int i = 0; i < 8; ++i) CHECK(y(i) == i);
}

}  // namespace statement_of_parts_test
