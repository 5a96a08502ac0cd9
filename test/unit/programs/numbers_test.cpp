// SPDX-License-Identifier: Apache-2.0
// Programs of algorithms and matrices, with static and with open extents, on the host and on GPUs: ranks by sort, scan
// and histogram; power iteration; equations by a Cholesky factor; beside plain loops.
#include "kinds.hpp"

#include <algorithm>

#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/algorithms/trim.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/ops/grids.hpp>
#include <locus/ops/vectors.hpp>

namespace numbers_test {

using namespace locus;
using namespace programs;

namespace {

/// the values of an image are spread evenly: each becomes the part of values that are not above its bin
struct equalise {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 1000, bins = 16;
    auto const x = drawn<Kind, float, n>(1, 0, 1);
    auto level = zero<Kind, std::int64_t, bins>();
    auto even = zero<Kind, double, n>();
    auto sorted = zero<Kind, float, n>();
    auto const counts = histogram<bins>(square(x), 0., 1.);
    static_assert(plan_of<decltype(cumsum<0>(counts))>.launches() == 3);
    level = cumsum<0>(counts);
    even = cast<double>(take(level, cast<int>(floor(square(x) * float(bins))))) / double(n);
    sorted = sort<0>(square(x));
    static_assert(plan_of<decltype(sort<0>(square(x)))>.launches() == 2);
    values const given = values_of(x);
    values squares(n), rank(n);
    for (std::size_t i = 0; i < n; ++i) squares[i] = double(float(given[i]) * float(given[i]));
    for (std::size_t i = 0; i < n; ++i) {
      double const end = (std::floor(squares[i] * bins) + 1) / bins;
      rank[i] =
          double(std::count_if(squares.begin(), squares.end(), [&](double v) { return v < end; })) /
          n;
    }
    CHECK(values_of(even) == rank);
    std::sort(squares.begin(), squares.end());
    CHECK(values_of(sorted) == squares);
    // how many values there are
    values const found = values_of(trim(unique(cast<int>(floor(x * 100.f)))).first);
    values few(n);
    std::transform(given.begin(), given.end(), few.begin(),
                   [](double v) { return double(std::floor(float(v) * 100.f)); });
    std::sort(few.begin(), few.end());
    few.erase(std::unique(few.begin(), few.end()), few.end());
    CHECK(found == few);
  }
};

/// the largest eigenvalue of a matrix of positive numbers
struct power {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 33;
    auto const a = drawn<Kind, double, n, n>(2, 0, 1);
    auto x = drawn<Kind, double, n>(3, 0, 1), y = x;
    static_assert(plan_of<decltype(matmul(a, x))>.launches() == 1);
    static_assert(plan_of<decltype(y / norm(y))>.launches() == 2);
    for (int k = 0; k < 40; ++k) {
      y = matmul(a, x);
      x = y / norm(y);
    }
    y = matmul(a, x);
    double const eigenvalue = fetch(dot(x, y));
    values const given = values_of(a), image = values_of(y), vector = values_of(x);
    std::vector<precise> wanted(n), stretched(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) wanted[i] += precise(given[i * n + j]) * vector[j];
      stretched[i] = eigenvalue * precise(vector[i]);
    }
    check(image, wanted, 1e-15);
    check(image, stretched, 1e-13);
  }
};

/// a factor, and equations solved with the matrix and with its factor
struct factor {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 17;
    auto const half = drawn<Kind, double, n, n>(4, -1, 1);
    auto const b = drawn<Kind, double, n>(5, -1, 1);
    auto a = zero<Kind, double, n, n>(), l = a, back = a;
    auto x = zero<Kind, double, n>(), by_factor = x;
    a = matmul(half, transpose(half)) + eye<n, double>();
    auto const both = plan(into(l, cholesky(a)), into(x, solve(a, b)));
    static_assert(both.launches() == 2);
    run(both);
    by_factor = solve(transpose(l), solve(l, b));
    back = matmul(l, transpose(l));
    values const matrix = values_of(a), found = values_of(x);
    check(values_of(back), matrix, 1e-14);
    std::vector<precise> image(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) image[i] += precise(matrix[i * n + j]) * found[j];
    check(values_of(b), image, 1e-13);
    check(values_of(by_factor), found, 1e-12);
  }
};

}  // namespace

TEST_CASE("values spread evenly by histogram, scan and take; sorted; counted by unique") {
  on_kinds(equalise{});
}
TEST_CASE("power iteration: a product of matrix and vector and a quotient by a norm") {
  on_kinds(power{});
}
TEST_CASE("a Cholesky factor, and equations solved with it and without") { on_kinds(factor{}); }

}  // namespace numbers_test
