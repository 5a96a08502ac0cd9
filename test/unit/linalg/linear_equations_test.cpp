// SPDX-License-Identifier: Apache-2.0
// cholesky, solve and inverse beside products in long double: sizes, batches, replicas, matrices without a result,
// gradients beside central differences. A second test runs this program without a LAPACK.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <locus/grad/grad.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/solve.hpp>
#include <message_of.hpp>
#include <replicas.hpp>

#include "random_matrices.hpp"

namespace linear_equations_test {

using namespace locus;
using namespace matrices;

namespace {

template <class T>
void check_factors(Tensor<T, Dextents<3>> const& a, Tensor<T, Dextents<3>> const& l) {
  std::int64_t const n = a.extent(1);
  plain const all = values_of(a), factors = values_of(l);
  for (std::int64_t k = 0; k < a.extent(0); ++k) {
    CAPTURE(k);
    plain const one = matrix_of(factors, k, n * n), want = matrix_of(all, k, n * n);
    CHECK(distance(product(one, one, n, n, n, true), want) <=
          16 * std::numeric_limits<T>::epsilon() * (largest(want) + 1));
    bool lower = true;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i; j < n; ++j)
        lower =
            lower && (i == j ? one[std::size_t(i * n + j)] > 0 : one[std::size_t(i * n + j)] == 0);
    CHECK(lower);
  }
}

/// a random matrix with a diagonal that keeps it away from singular ones, its rows in another order
template <class T>
Tensor<T, Dextents<3>> regular(std::int64_t all, std::int64_t n, std::uint64_t seed) {
  Tensor<T, Dextents<3>> a(all, n, n);
  fill(a, seed);
  for (std::int64_t k = 0; k < all; ++k)
    for (std::int64_t i = 0; i < n; ++i) a(k, (i + 1) % n, i) += T(n);
  return a;
}
template <class T>
void check_solution(std::int64_t all, std::int64_t n, std::int64_t m, std::uint64_t seed) {
  CAPTURE(n);
  CAPTURE(m);
  auto const a = regular<T>(all, n, seed);
  Tensor<T, Dextents<3>> b(all, n, m);
  fill(b, seed + 1);
  Tensor<T, Dextents<3>> const x = eval(on<CpuDevice>(solve(a, b)));
  REQUIRE(x.extents() == b.extents());
  for (std::int64_t k = 0; k < all; ++k) {
    plain const one = matrix_of(values_of(a), k, n * n), found = matrix_of(values_of(x), k, n * m),
                want = matrix_of(values_of(b), k, n * m);
    CHECK(distance(product(one, found, n, n, m), want) <= 64 * std::numeric_limits<T>::epsilon());
  }
}

}  // namespace

TEST_CASE("cholesky gives factors whose products are the matrices") {
  for (std::int64_t const n : {0, 1, 2, 3, 31, 33, 65}) {
    CAPTURE(n);
    auto const a = positive<double>(3, n, 1);
    check_factors(a, Tensor<double, Dextents<3>>(eval(on<CpuDevice>(cholesky(a)))));
    auto const f = positive<float>(2, n, 2);
    check_factors(f, Tensor<float, Dextents<3>>(eval(on<CpuDevice>(cholesky(f)))));
  }
  auto const none = positive<double>(0, 4, 3);
  CHECK(eval(on<CpuDevice>(cholesky(none))).size() == 0);
  // one matrix; the upper half is not read
  Tensor<double, Extents<2, 2>> const a{{4, NAN}, {2, 3}};
  auto const l = eval(on<CpuDevice>(cholesky(a)));
  static_assert(std::is_same_v<std::remove_const_t<decltype(l)>, Tensor<double, Extents<2, 2>>>);
  CHECK(l(0, 0) == 2);
  CHECK(l(0, 1) == 0);
  CHECK(l(1, 0) == 1);
  CHECK(std::fabs(l(1, 1) - std::sqrt(2.)) < 1e-15);
  Tensor<double, Dextents<2>> const oblong(2, 3);
  CHECK_THROWS_AS(static_cast<void>(eval(cholesky(oblong))), shape_error);
}

TEST_CASE("a matrix that is not positive definite gives NaN and its number, and the others their "
          "factors") {
  auto a = positive<float>(4, 5, 4);
  a(1, 2, 2) = -1.f;
  a(2, 0, 0) = 0.f;
  a(3, 4, 4) = NAN;
  auto const [l, info] = cholesky_with_info(a);
  Tensor<int, Dextents<1>> ended(4);
  Tensor<float, Dextents<3>> factors(4, 5, 5);
  run(into(factors, on<CpuDevice>(l)), into(ended, on<CpuDevice>(info)));
  CHECK(ended(0) == 0);
  CHECK(ended(1) == 3);
  CHECK(ended(2) == 1);
  CHECK(ended(3) == 5);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 25; ++i) CHECK(std::isnan(factors.data()[25 * k + i]) == (k > 0));
  // each result alone
  CHECK(equal(eval(on<CpuDevice>(info)), ended));
  Tensor<double, Extents<1, 1>> const negative{{-1.}};
  CHECK(fetch(get<1>(cholesky_with_info(negative))) == 1);
}

TEST_CASE("cholesky over devices: on GPUs by way of the host, pieces of a batch where they are") {
  on_few_backends([](backends::machine const& m) {
    auto const a = positive<double>(7, 6, 5);
    Tensor<double, Dextents<3>> const want = eval(on<CpuDevice>(cholesky(a)));
    if (!m.has_gpu()) return;
    Tensor<double, Dextents<3>, GpuDevice<1>> const there(a);
    Tensor<double, Dextents<3>, GpuDevice<1>> const l = cholesky(there);
    CHECK(equal(fetch(l), want));
    Tensor<double, Dextents<3>, replicas::cut<2, 0>> const rows(a);
    CHECK(equal(fetch(cholesky(rows)), want));
  });
}

TEST_CASE("the gradient of cholesky is that of central differences") {
  auto a = positive<double>(1, 5, 6);
  Tensor<double, Extents<1, 5, 5>> weights;
  fill(weights, 7);
  auto const loss = [&] { return fetch(sum(weights * on<CpuDevice>(cholesky(a)))); };
  Tensor<double, Dextents<3>> const g = eval(grad(sum(weights * on<CpuDevice>(cholesky(a))), a));
  auto const [l, info] = cholesky_with_info(a);
  Tensor<double, Dextents<3>> const other = eval(grad(sum(weights * on<CpuDevice>(l)), a));
  CHECK(equal(g, other));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j <= i; ++j) {
      double const step = 1e-5, was = a(0, i, j), turned = a(0, j, i);
      a(0, i, j) = was + step, a(0, j, i) = turned + step;
      double const more = loss();
      a(0, i, j) = was - step, a(0, j, i) = turned - step;
      double const less = loss();
      a(0, i, j) = was, a(0, j, i) = turned;
      double const slope = (more - less) / (2 * step);
      CHECK(std::fabs(slope - g(0, i, j) * (i == j ? 1 : 2)) < 1e-7);
      CHECK(std::fabs(g(0, i, j) - g(0, j, i)) < 1e-12);
    }
}

TEST_CASE("solve gives what the matrices turn into the right sides") {
  for (std::int64_t const n : {1, 2, 3, 31, 33, 65})
    for (std::int64_t const m : {1, 4}) {
      check_solution<double>(3, n, m, 1);
      check_solution<float>(2, n, m, 2);
    }
  check_solution<double>(2, 0, 3, 3);
  check_solution<double>(2, 3, 0, 3);
  check_solution<double>(0, 3, 2, 3);
  Tensor<double, Extents<2, 2>> const a{{0, 2}, {4, 1}};
  Tensor<double, Extents<2>> const b{6, 7};
  auto const x = eval(on<CpuDevice>(solve(a, b)));
  static_assert(std::is_same_v<std::remove_const_t<decltype(x)>, Tensor<double, Extents<2>>>);
  CHECK(x(0) == 1);
  CHECK(x(1) == 3);
  Tensor<double, Dextents<2>> const oblong(2, 3), three(3, 2), two(2, 2);
  CHECK_THROWS_AS(static_cast<void>(eval(solve(oblong, two))), shape_error);
  CHECK_THROWS_AS(static_cast<void>(eval(solve(two, three))), shape_error);
}

TEST_CASE("the inverse times its matrix is the identity") {
  for (std::int64_t const n : {0, 1, 2, 31, 64}) {
    CAPTURE(n);
    auto const a = regular<double>(2, n, 4);
    Tensor<double, Dextents<3>> const r = eval(on<CpuDevice>(inverse(a)));
    for (std::int64_t k = 0; k < 2; ++k) {
      plain identity(std::size_t(n * n));
      for (std::int64_t i = 0; i < n; ++i) identity[std::size_t(i * n + i)] = 1;
      CHECK(distance(product(matrix_of(values_of(a), k, n * n), matrix_of(values_of(r), k, n * n),
                             n, n, n),
                     identity) < 1e-14);
    }
  }
  Tensor<float, Extents<2, 2>> const a{{0.f, 2.f}, {4.f, 0.f}};
  auto const r = eval(on<CpuDevice>(inverse(a)));
  CHECK(r(0, 1) == 0.25f);
  CHECK(r(1, 0) == 0.5f);
}

TEST_CASE(
    "a singular matrix gives NaN and the column without a pivot, and the others their solutions") {
  Tensor<double, Dextents<3>> a(4, 3, 3), b(4, 3, 1);
  a = 0.;
  b = 1.;
  for (int i = 0; i < 3; ++i) a(0, i, i) = a(1, i, i) = 2.;
  a(1, 2, 2) = 0.;
  a(3, 0, 1) = a(3, 1, 0) = 1.;
  a(2, 0, 0) = a(2, 0, 1) = a(2, 1, 2) =
      1.;  // columns 0 and 1 are alike, no row is the first without a pivot
  a(2, 1, 0) = a(2, 1, 1) = 2., a(2, 2, 0) = a(2, 2, 1) = 4.;
  auto const [x, info] = solve_with_info(a, b);
  Tensor<double, Dextents<3>> solutions(4, 3, 1);
  Tensor<int, Dextents<1>> ended(4);
  run(into(solutions, on<CpuDevice>(x)), into(ended, on<CpuDevice>(info)));
  int const want[] = {0, 3, 2, 3};
  for (int k = 0; k < 4; ++k) {
    CHECK(ended(k) == want[k]);
    for (int i = 0; i < 3; ++i) CHECK(std::isnan(solutions(k, i, 0)) == (want[k] != 0));
  }
  CHECK(solutions(0, 1, 0) == 0.5);
  CHECK(equal(eval(on<CpuDevice>(info)), ended));
  Tensor<double, Dextents<3>> const inverses = eval(on<CpuDevice>(inverse(a)));
  CHECK(inverses(0, 1, 1) == 0.5);
  CHECK(std::isnan(inverses(3, 0, 0)));
}

TEST_CASE("solve over replicas: pieces of both batches where they are") {
  on_few_backends([](backends::machine const& m) {
    auto const a = regular<double>(5, 4, 5);
    Tensor<double, Dextents<3>> b(5, 4, 2);
    fill(b, 6);
    Tensor<double, Dextents<3>> const want = eval(on<CpuDevice>(solve(a, b)));
    if (!m.has_gpu()) return;
    Tensor<double, Dextents<3>, replicas::cut<2, 0>> const rows(a), sides(b);
    CHECK(equal(fetch(solve(rows, sides)), want));
  });
}

TEST_CASE("gradients of solve and inverse are those of central differences") {
  auto a = regular<double>(2, 3, 7);
  Tensor<double, Extents<2, 3, 2>> b, weights;
  Tensor<double, Extents<2, 3, 3>> others;
  Tensor<double, Extents<3, 3>> one(view<CpuDevice>(a.data(), Extents<3, 3>{}));
  Tensor<double, Extents<3>> const side{1, 2, 3};
  fill(b, 8);
  fill(weights, 9);
  fill(others, 10);
  auto const left = named<"a">(a);
  auto const right = named<"b">(b);
  auto const loss = sum(named<"w">(weights) * on<CpuDevice>(solve(left, right))) +
                    sum(others * on<CpuDevice>(inverse(left))) +
                    sum(on<CpuDevice>(solve(one, side)));  // one right side of one matrix
  Tensor<double, Dextents<3>> by_a(2, 3, 3);
  Tensor<double, Extents<2, 3, 2>> by_b;
  Tensor<double, Extents<3, 3>> by_one;
  run(into(by_a, grad(loss, left)), into(by_b, grad(loss, right)), into(by_one, grad(loss, one)));
  auto const slope = [&](double& element) {
    double const was = element, step = 1e-6;
    element = was + step;
    double const more = fetch(loss);
    element = was - step;
    double const less = fetch(loss);
    element = was;
    return (more - less) / (2 * step);
  };
  for (int i = 0; i < 18; ++i) CHECK(std::fabs(slope(a.data()[i]) - by_a.data()[i]) < 1e-7);
  for (int i = 0; i < 12; ++i) CHECK(std::fabs(slope(b.data()[i]) - by_b.data()[i]) < 1e-7);
  for (int i = 0; i < 9; ++i) CHECK(std::fabs(slope(one.data()[i]) - by_one.data()[i]) < 1e-7);
}

}  // namespace linear_equations_test
