// SPDX-License-Identifier: Apache-2.0
// Programs over fields, with static and with open extents, on the host and on GPUs: Jacobi's method, a wave in three
// dimensions, conjugate gradients; beside plain loops.
#include "kinds.hpp"

#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/take.hpp>

namespace fields_test {

using namespace locus;
using namespace programs;

namespace {

constexpr int side = 21;

struct jacobi {
  template <class Kind>
  void operator()(Kind) const {
    auto now = drawn<Kind, double, side, side>(1, -1, 1);
    auto next = now;
    values wanted = values_of(now), last = wanted;
    double change = 0;
    for (int k = 0; k < 25; ++k) {
      let(now, [&](auto u) {
        auto const mean = 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                  interior<1, 0, -1>(u) + interior<1, 0, 1>(u));
        auto const sweep = plan(into(interior<1>(next), mean));
        static_assert(sweep.launches() == 1 && sweep.guards() == 0);
        run(sweep);
      });
      change = fetch(max(abs(next - now)));
      swap(now, next);
      last = wanted;
      for (std::size_t i = 1; i < side - 1; ++i)
        for (std::size_t j = i * side + 1; j < i * side + side - 1; ++j)
          wanted[j] = 0.25 * (last[j - side] + last[j + side] + last[j - 1] + last[j + 1]);
    }
    check(values_of(now), wanted, 1e-15);
    double most = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      most = std::max(most, std::fabs(wanted[i] - last[i]));
    CHECK(std::fabs(change - most) < 1e-15);
  }
};

/// red and black points in turn, by slices with a step that are assigned to
struct red_and_black {
  template <class Kind>
  void operator()(Kind) const {
    auto u = drawn<Kind, double, 2 * side + 1>(2, -1, 1);
    values wanted = values_of(u);
    for (int k = 0; k < 10; ++k)
      for (int color : {1, 2}) {
        slice(u, {color, -1, 2}) =
            0.5 * (slice(u, {color - 1, -2, 2}) + slice(u, strided{color + 1, range::to_end, 2}));
        for (std::size_t i = std::size_t(color); i < 2 * side; i += 2)
          wanted[i] = 0.5 * (wanted[i - 1] + wanted[i + 1]);
      }
    check(values_of(u), wanted, 1e-15);
  }
};

struct wave {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 9;
    constexpr std::size_t m = n;
    auto old = drawn<Kind, double, n, n, n>(3, -1, 1), now = drawn<Kind, double, n, n, n>(4, -1, 1);
    auto next = zero<Kind, double, n, n, n>();
    values was = values_of(old), is = values_of(now), then(is.size());
    for (int k = 0; k < 10; ++k) {
      let(now, [&](auto u) {
        auto const around = interior<1, -1, 0, 0>(u) + interior<1, 1, 0, 0>(u) +
                            interior<1, 0, -1, 0>(u) + interior<1, 0, 1, 0>(u) +
                            interior<1, 0, 0, -1>(u) + interior<1, 0, 0, 1>(u);
        auto const step = plan(into(interior<1>(next), 2. * interior<1>(u) - interior<1>(old) +
                                                           .1 * (around - 6. * interior<1>(u))));
        static_assert(step.launches() == 1 && step.guards() == 0);
        run(step);
      });
      swap(old, now), swap(now, next);
      for (std::size_t a = 1; a < m - 1; ++a)
        for (std::size_t b = 1; b < m - 1; ++b)
          for (std::size_t o = (a * m + b) * m + 1; o < (a * m + b) * m + m - 1; ++o)
            then[o] = 2 * is[o] - was[o] +
                      .1 * (is[o - m * m] + is[o + m * m] + is[o - m] + is[o + m] + is[o - 1] +
                            is[o + 1] - 6 * is[o]);
      std::swap(was, is), std::swap(is, then);
      if (k == 1) slice(next, {1, -1}, {1, -1}, {1, -1}) = 0.;  // each inner element is written
    }
    check(values_of(now), is, 1e-14);
  }
};

/// A x of the five-point operator, in long double; elements outside are 0
std::vector<precise> image_of(values const& x) {
  std::vector<precise> all(x.size());
  for (std::size_t i = 1; i < side - 1; ++i)
    for (std::size_t j = i * side + 1; j < i * side + side - 1; ++j)
      all[j] = 4 * precise(x[j]) - x[j - side] - x[j + side] - x[j - 1] - x[j + 1];
  return all;
}

/// conjugate gradients without a matrix: three launches for each step
struct gradients {
  template <class Kind>
  void operator()(Kind) const {
    auto x = zero<Kind, double, side, side>(), right = x, p = x, q = x;
    interior<1>(right) =
        uniform<double>(Kind::template extents<side - 2, side - 2>(), seed{5}) - 0.5;
    auto r = right;
    p = r;
    using Number = typename Kind::template tensor<double>;
    Number pq, next;
    double rr = fetch(sum(square(r)));
    int steps = 0;
    for (; steps < 200 && rr > 1e-26; ++steps) {
      let(p, [&](auto d) {
        let(4. * interior<1>(d) - interior<1, -1, 0>(d) - interior<1, 1, 0>(d) -
                interior<1, 0, -1>(d) - interior<1, 0, 1>(d),
            [&](auto product) {
              auto const one =
                  plan(into(interior<1>(q), product), into(pq, sum(interior<1>(d) * product)));
              static_assert(one.launches() == 1);
              run(one);
            });
      });
      double const a = rr / fetch(pq);
      let(r - a * q, [&](auto left) {
        auto const two = plan(into(x, x + a * p), into(r, left), into(next, sum(square(left))));
        static_assert(two.launches() == 1);
        run(two);
      });
      double const all = fetch(next), b = all / rr;
      static_assert(plan_of<decltype(r + b * p)>.launches() == 1);
      p = r + b * p;
      rr = all;
    }
    CHECK(steps < 100);
    auto const image = image_of(values_of(x));
    check(values_of(right), image, 1e-12);
  }
};

/// the same equations by a sparse matrix in coordinates: its product is two launches
struct sparse_gradients {
  template <class Kind>
  void operator()(Kind) const {
    constexpr int n = 40, entries = 3 * n - 2;
    Tensor<double, Extents<entries>> a;
    Tensor<std::int64_t, Extents<entries>> i, j;
    int at = 0;
    for (int row = 0; row < n; ++row)
      for (int column = std::max(row - 1, 0); column < std::min(row + 2, n); ++column, ++at)
        a(at) = row == column ? 2.5 : -1., i(at) = row, j(at) = column;
    REQUIRE(at == entries);
    typename Kind::template tensor<double, entries> const entry(a);
    typename Kind::template tensor<std::int64_t, entries> const rows(i), columns(j);
    auto const right = drawn<Kind, double, n>(6, -1, 1);
    auto x = zero<Kind, double, n>(), r = right, p = right, q = x;
    double rr = fetch(sum(square(r)));
    int steps = 0;
    for (; steps < 60 && rr > 1e-26; ++steps) {
      auto const product = segment_sum<n>(entry * take(p, columns), rows);
      auto const multiply = plan(into(q, product));
      static_assert(multiply.launches() == 3);
      run(multiply);
      double const a_step = rr / fetch(sum(p * q));
      run(into(x, x + a_step * p), into(r, r - a_step * q));
      double const all = fetch(sum(square(r)));
      p = r + all / rr * p;
      rr = all;
    }
    values const found = values_of(x);
    std::vector<precise> image(n);
    for (std::size_t row = 0; row < n; ++row)
      image[row] =
          2.5L * found[row] - (row > 0 ? found[row - 1] : 0) - (row + 1 < n ? found[row + 1] : 0);
    check(values_of(right), image, 1e-12);
  }
};

}  // namespace

TEST_CASE("Jacobi's method on a plate: one launch a sweep, the bits of a loop") {
  on_kinds(jacobi{});
}
TEST_CASE("points of two colours in turn, by slices with a step") { on_kinds(red_and_black{}); }
TEST_CASE("a wave in three dimensions: one launch a step") { on_kinds(wave{}); }
TEST_CASE("conjugate gradients without a matrix: three launches a step") { on_kinds(gradients{}); }
TEST_CASE("conjugate gradients with a sparse matrix of take and segment_sum") {
  on_kinds(sparse_gradients{});
}

}  // namespace fields_test
