// SPDX-License-Identifier: Apache-2.0
// Variance, norms, products of vectors, grids and stack beside plain loops in long double, on the host and
// over pieces on simulated GPUs.
#include <cmath>
#include <doctest/doctest.h>

#include <locus/locus.hpp>
#include <locus/ops/grids.hpp>
#include <locus/ops/stack.hpp>
#include <locus/ops/statistics.hpp>
#include <locus/ops/vectors.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <oracle.hpp>

using namespace locus;

namespace {

using wide = long double;
using Matrix = Tensor<double, Dextents<2>>;

Matrix random_matrix(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  Matrix x(n, m);
  oracle::random r(seed);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = 1e6 + r.real(-1, 1);
  return x;
}
/// means: the variance of x[first], x[first + by], ... n of them; the sum of squares divided by n - less
wide variance(double const* x, std::int64_t n, std::int64_t by, int less = 0) {
  wide mean = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += wide(x[i * by]) / wide(n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i * by] - mean) * (x[i * by] - mean);
  return n > less ? squares / wide(n - less) : wide(NAN);
}
bool near(double is, wide want) {
  return std::isnan(want) ? std::isnan(is) : std::fabs(is - want) <= 1e-9L * (1 + std::fabs(want));
}
template <class X>
void check_variance(X const& there, Matrix const& x) {
  std::int64_t const n = x.extent(0), m = x.extent(1);
  INFO("extents ", n, ", ", m);
  Tensor<double, Dextents<1>> rows(n), columns(m);
  rows = var<-1>(there), columns = var<0>(there, ddof{1});
  int wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) wrong += !near(rows(i), variance(x.data() + i * m, m, 1));
  for (std::int64_t j = 0; j < m; ++j) wrong += !near(columns(j), variance(x.data() + j, n, m, 1));
  CHECK(wrong == 0);
  CHECK(near(fetch(standard_deviation(there)), std::sqrt(variance(x.data(), n * m, 1))));
}

}  // namespace

TEST_SUITE_BEGIN("ops/statistics");

TEST_CASE("variances of rows, of columns and of all, whatever the mean, over pieces too") {
  testing::simulated_gpus gpus(3);
  using Cut = Tensor<double, Dextents<2>, Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>>;
  for (auto const& [n, m] : {std::pair{1, 1}, {31, 3}, {4, 257}, {2, 4096}, {300, 33}, {0, 2}}) {
    Matrix const x = random_matrix(n, m, 4);
    check_variance(x, x);
    check_variance(Cut(x), x);
  }
}
TEST_CASE("a variance is one step with its operand: static extents stay, a row is one launch") {
  Tensor<float, Extents<3, 4>> x;
  static_assert(decltype(var<1>(x, keep_dims))::pattern == shape{2, {3, 1}});
  static_assert(decltype(var<1>(x, ddof{1}, keep_dims))::pattern == shape{2, {3, 1}});
  static_assert(std::is_same_v<decltype(standard_deviation<0>(x))::value_type, float>);
  static_assert(plan_of<decltype(var<1>(x * 2.f))>.launches() == 1);
  static_assert(plan_of<decltype(var<0>(x))>.launches() == 2);
  Tensor<half, Extents<3>> h{half(1.f), half(2.f), half(6.f)};
  CHECK(static_cast<float>(fetch(var(h))) == doctest::Approx(4.667).epsilon(1e-3));
  Tensor<float, Extents<2>> const two{1, 2};
  CHECK(std::isnan(fetch(var(two, ddof{2}))));
}
TEST_CASE("a variance of 16-bit floats has means that are floats, along each axis") {
  testing::simulated_gpus gpus(2);
  auto const check = []<class T>(T, double middle, double width) {
    constexpr std::int64_t n = 37, m = 19;
    Tensor<T, Dextents<2>> x(n, m);
    oracle::random r(3);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j)
        x(i, j) = static_cast<T>(static_cast<float>(r.real(middle - width, middle + width)));
    Tensor<double, Dextents<2>> const exact(cast<double>(x));
    Tensor<T, Dextents<2>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> const cut(x);
    double const unit = std::ldexp(1., std::is_same_v<T, half> ? -11 : -8);
    auto const near_to = [&](auto const& got, auto const& want) {
      return fetch(max(abs(cast<double>(fetch(got)) - fetch(want)) / fetch(want))) <= 2 * unit;
    };
    CHECK(near_to(var<0>(x), var<0>(exact)));
    CHECK(near_to(var<1>(x), var<1>(exact)));
    CHECK(near_to(var<0>(cut), var<0>(exact)));
    CHECK(near_to(standard_deviation<0>(x), standard_deviation<0>(exact)));
    double const whole = fetch(var(exact));
    CHECK(std::fabs(double(static_cast<float>(fetch(var(x)))) - whole) <= 2 * unit * whole);
  };
  check(half(), 2048, 8);
  check(half(), 0, 1);
  check(bfloat16(), 256, 6);
  check(bfloat16(), -1000, 30);
}
TEST_CASE("dot, norm and outer of vectors") {
  testing::simulated_gpus gpus(2);
  using Cut = Tensor<double, Dextents<1>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
  for (std::int64_t n : {0, 1, 33, 257, 4096}) {
    Tensor<double, Dextents<1>> x(n), y(n);
    oracle::random r(9);
    wide product = 0, squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      x(i) = r.real(-1, 1), y(i) = r.real(-1, 1);
      product += wide(x(i)) * y(i), squares += wide(x(i)) * x(i);
    }
    Cut a(x), b(y);
    CHECK(near(fetch(dot(x, y)), product));
    CHECK(near(fetch(dot(a, b)), product));
    CHECK(near(fetch(norm(a)), std::sqrt(squares)));
  }
  Tensor<int, Extents<3>> const p{2, -3, 4};
  Tensor<int, Dextents<1>> const q{5, 7};
  CHECK(fetch(dot(p, p)) == 29);  // int64
  Tensor<int, Dextents<2>> const o(outer(p, q));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) CHECK(o(i, j) == p(i) * q(j));
  static_assert(decltype(outer(p, p))::pattern == shape{2, {3, 3}});
  Tensor<double, Extents<2, 2>> const m{{3, 4}, {5, 12}};
  Tensor<double, Extents<2, 1>> const lengths(norm<1>(m, keep_dims));
  CHECK((lengths(0, 0) == 5 && lengths(1, 0) == 13));
}
TEST_CASE("eye has ones on its diagonal; linspace ends where it should") {
  Tensor<int, Dextents<2>> const above(eye<int>(dextents<2>{3, 5}, 1)),
      below(eye<int>(dextents<2>{3, 5}, -2));
  Tensor<float, Extents<3, 3>> const square_one(eye<3>());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      CHECK(above(i, j) == (j - i == 1));
      CHECK(below(i, j) == (j - i == -2));
      if (j < 3) CHECK(square_one(i, j) == (i == j));
    }
  for (std::int64_t n : {1, 2, 31, 1000}) {
    Tensor<float, Dextents<1>> const x(linspace<float>(dextents<1>{n}, -1.25, 3.1));
    CHECK(x(0) == -1.25f);
    if (n > 1) CHECK(x(n - 1) == 3.1f);
    for (std::int64_t i = 0; i < n; ++i)
      CHECK(std::fabs(x(i) - (-1.25 + (n > 1 ? 4.35 * double(i) / double(n - 1) : 0))) <= 4e-7);
  }
  static_assert(decltype(linspace<double, 5>(0, 1))::pattern == shape{1, {5}});
}
TEST_CASE("linspace computes in double, and rounds each number once") {
  auto const check = []<class T>(T, std::int64_t n, double first, double last) {
    CAPTURE(n);
    CAPTURE(first);
    CAPTURE(last);
    Tensor<T, Dextents<1>> const here(linspace<T>(dextents<1>{n}, first, last));
    auto const there = fetch(on<GpuDevice<0>>(linspace<T>(dextents<1>{n}, first, last)));
    double const by = (last - first) / static_cast<double>(n - 1);
    bool all = true;
    for (std::int64_t i = 0; i < n; ++i) {
      T const want =
          static_cast<T>(i == n - 1 ? last : std::fma(static_cast<double>(i), by, first));
      all = all && here(i) == want && there(i) == want;
    }
    CHECK(all);
  };
  for (std::int64_t const n : {2, 3, 11, 1001, 3001, 20001}) {
    check(0.f, n, -1, 1);
    check(0.f, n, -1, 0);
    check(0.f, n, 0.1, 1e6);
    check(0.f, n, -3e38, 3e38);
    check(0., n, -1.25, 3.1);
    check(half(), n, -65504, 65504);
    check(bfloat16(), n, 0, 0.3);
  }
  Tensor<float, Dextents<1>> const x(linspace<float>(dextents<1>{20001}, -1, 1));
  CHECK((std::fabs(x(10000)) < 1e-16f && x(13333) == 0.3333f && x(19999) == 0.9999f));
}
TEST_CASE("stack puts its operands along a new axis") {
  Tensor<std::uint8_t, Extents<2, 3>> const x{{1, 2, 3}, {4, 5, 6}}, y{{7, 8, 9}, {10, 11, 12}};
  static_assert(decltype(stack<0>(x, y))::pattern == shape{3, {2, 2, 3}});
  Tensor<std::uint8_t, Extents<2, 2, 3>> const first(stack<0>(x, y)), middle(stack<1>(x, y));
  Tensor<std::uint8_t, Extents<2, 3, 2>> const last(stack<-1>(x, y));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      CHECK((first(0, i, j) == x(i, j) && first(1, i, j) == y(i, j)));
      CHECK((middle(i, 0, j) == x(i, j) && middle(i, 1, j) == y(i, j)));
      CHECK((last(i, j, 0) == x(i, j) && last(i, j, 1) == y(i, j)));
    }
}
TEST_SUITE_END();
