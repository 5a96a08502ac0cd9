// SPDX-License-Identifier: Apache-2.0
// Kernels over open extents, each of which may be 1 in a run and stretch, against plain loops in
// double.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <worst_of.hpp>

#include <algorithm>
#include <cmath>

namespace open_extents_test {

using namespace locus;

namespace {

using Matrix = Tensor<float, Dextents<2>>;

/// a matrix of m x n; bits 2 * k and 2 * k + 1 of `ones` say which of its extents are 1
Matrix draw(int ones, int k, int m, int n) {
  return Matrix(
      uniform<float>(dextents<2>{ones >> (2 * k) & 1 ? 1 : m, ones >> (2 * k + 1) & 1 ? 1 : n},
                     seed{std::uint64_t(k + 1)}));
}
std::int64_t rows(Matrix const& x) { return x.extents().extent(0); }
std::int64_t columns(Matrix const& x) { return x.extents().extent(1); }
/// the element of x broadcast
double at(Matrix const& x, std::int64_t i, std::int64_t j) {
  return double(x.data()[(rows(x) == 1 ? 0 : i) * columns(x) + (columns(x) == 1 ? 0 : j)]);
}
double largest(Matrix const& x, std::int64_t i) {
  double most = -1;
  for (std::int64_t j = 0; j < columns(x); ++j) most = std::max(most, at(x, i, j));
  return most;
}
template <class Wanted>
void check(Matrix const& got, std::int64_t m, std::int64_t n, Wanted const& wanted) {
  REQUIRE(rows(got) == m);
  REQUIRE(columns(got) == n);
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double const d = std::fabs(at(got, i, j) - wanted(i, j));
      worst = worst_of(worst, d);
    }
  CHECK(worst < 1e-4);
}

}  // namespace

TEST_CASE("rows of a chain are as long as the operand of each fold, whatever stretches") {
  on_few_backends([] {
    for (int ones = 0; ones < 16; ++ones) {
      CAPTURE(ones);
      Matrix const x = draw(ones, 0, 5, 7), w = draw(ones, 1, 5, 7);
      std::int64_t const m = std::max(rows(x), rows(w)), n = std::max(columns(x), columns(w));
      auto const e = exp(x - max<1>(x, keep_dims)) * w;
      auto const total = [&](std::int64_t i) {
        double s = 0;
        for (std::int64_t j = 0; j < n; ++j)
          s += std::exp(at(x, i, j) - largest(x, i)) * at(w, i, j);
        return s;
      };
      static_assert(plan_of<decltype(on<CpuDevice>(sum<1>(e, keep_dims)))>.launches() == 1);
      check(Matrix(eval(sum<1>(e, keep_dims))), m, 1, [&](auto i, auto) { return total(i); });
      static_assert(plan_of<decltype(on<CpuDevice>(sum<1>(e, keep_dims) * w))>.launches() == 1);
      check(Matrix(eval(sum<1>(e, keep_dims) * w)), m, columns(w),
            [&](auto i, auto j) { return total(i) * at(w, i, j); });
    }
  });
}

namespace {

using Vector = Tensor<float, Dextents<1>>;
using Number = Tensor<float, Extents<>>;

Vector draw(std::int64_t n, int k) {
  return Vector(uniform<float>(dextents<1>{n}, seed{std::uint64_t(k + 1)}) - 0.5f);
}
std::int64_t length(Vector const& x) { return x.extents().extent(0); }
double at(Vector const& x, std::int64_t i) { return double(x.data()[length(x) == 1 ? 0 : i]); }
/// the extent of values that are broadcast
std::int64_t joined(std::initializer_list<std::int64_t> extents) {
  std::int64_t all = 1;
  for (std::int64_t n : extents) all = n == 1 ? all : n;
  return all;
}
bool close(double got, double wanted) {
  return std::fabs(got - wanted) <= 1e-4 * (1 + std::fabs(wanted));
}

}  // namespace

TEST_CASE("three forces of open positions are one launch, also where a coordinate is one number") {
  for (std::int64_t const n : {0, 1, 5, 33})
    for (int ones = 0; ones < 16; ++ones) {
      CAPTURE(n);
      CAPTURE(ones);
      auto const drawn = [&](int k) { return draw(ones >> k & 1 ? 1 : n, k); };
      Vector const x = drawn(0), y = drawn(1), z = drawn(2), mass = drawn(3);
      std::int64_t const all = joined({length(x), length(y), length(z)}),
                         columns = joined({all, length(mass)});
      Vector fx(all), fy(all), fz(all);
      let(expand_dims<0>(x) - expand_dims<1>(x), [&](auto dx) {
        let(expand_dims<0>(y) - expand_dims<1>(y), [&](auto dy) {
          let(expand_dims<0>(z) - expand_dims<1>(z), [&](auto dz) {
            let(mass / (square(dx) + square(dy) + square(dz) + 0.5f), [&](auto pull) {
              auto const step = plan(into(fx, sum<1>(dx * pull)), into(fy, sum<1>(dy * pull)),
                                     into(fz, sum<1>(dz * pull)));
              static_assert(decltype(step)::launches() == 1);
              run(step);
            });
          });
        });
      });
      for (std::int64_t i = 0; i < all; ++i) {
        double force[3]{};
        for (std::int64_t j = 0; j < columns; ++j) {
          double const d[] = {at(x, j) - at(x, i), at(y, j) - at(y, i), at(z, j) - at(z, i)};
          double const pull = at(mass, j) / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.5);
          for (int k = 0; k < 3; ++k) force[k] += d[k] * pull;
        }
        CHECK(close(double(fx.data()[i]), force[0]));
        CHECK(close(double(fy.data()[i]), force[1]));
        CHECK(close(double(fz.data()[i]), force[2]));
      }
    }
}

TEST_CASE(
    "folds and values of one set of open extents are one launch, whichever operand stretches") {
  for (std::int64_t const n : {0, 1, 31, 257, 4096})
    for (int ones = 0; ones < 4; ++ones) {
      CAPTURE(n);
      CAPTURE(ones);
      Vector const x = draw(ones & 1 ? 1 : n, 0), y = draw(ones & 2 ? 1 : n, 1);
      Vector apart(joined({length(x), length(y)}));
      Number dot, far;
      let(x, [&](auto u) {
        let(y, [&](auto v) {
          auto const step =
              plan(into(dot, sum(u * v)), into(far, sum(abs(v - u))), into(apart, u - v));
          static_assert(decltype(step)::launches() == 1);
          run(step);
        });
      });
      double sums[2]{};
      for (std::int64_t i = 0; i < length(apart); ++i) {
        double const d = at(x, i) - at(y, i);
        sums[0] += at(x, i) * at(y, i), sums[1] += std::fabs(d);
        REQUIRE(close(double(apart.data()[i]), d));
      }
      CHECK(close(fetch(dot), sums[0]));
      CHECK(close(fetch(far), sums[1]));
      if (ones & 1) continue;
      // in place: x is read at the index that is written
      Vector moved(x);
      let(moved + y, [&](auto sum_of) {
        auto const move = plan(into(moved, sum_of), into(dot, sum(square(sum_of))));
        static_assert(decltype(move)::launches() == 1);
        run(move);
      });
      double squares = 0;
      for (std::int64_t i = 0; i < length(moved); ++i) {
        double const m = at(x, i) + at(y, i);
        squares += m * m;
        REQUIRE(close(double(moved.data()[i]), m));
      }
      CHECK(close(fetch(dot), squares));
    }
}

TEST_CASE("sums of one product are one launch; of values that no operation compares, one each") {
  for (int ones = 0; ones < 16; ++ones) {
    CAPTURE(ones);
    Matrix const a = draw(ones, 0, 5, 3), w = draw(ones, 1, 5, 7),
                 b = draw(0, 3, int(columns(a)), 7);
    std::int64_t const m = joined({rows(a), rows(w)});
    Number all, squares;
    Vector lengths(m);
    let(relu(matmul(a, b) - 0.5f), [&](auto h) {
      let(h * w, [&](auto weighed) {
        auto const step = plan(into(all, sum(weighed)), into(squares, sum(weighed * h)));
        static_assert(decltype(step)::launches() <= 2);
        run(step);
      });
      static_assert(plan_of<decltype(sqrt(sum<1>(square(h * w))))>.launches() <= 2);
      run(into(lengths, sqrt(sum<1>(square(h * w)))));
    });
    double sums[2]{};
    for (std::int64_t i = 0; i < m; ++i) {
      double row = 0;
      for (std::int64_t j = 0; j < 7; ++j) {
        double product = -0.5;
        for (std::int64_t k = 0; k < columns(a); ++k) product += at(a, i, k) * at(b, k, j);
        double const h = std::max(product, 0.), weighed = h * at(w, i, j);
        sums[0] += weighed, sums[1] += weighed * h, row += weighed * weighed;
      }
      CHECK(close(double(lengths.data()[i]), std::sqrt(row)));
    }
    CHECK(close(fetch(all), sums[0]));
    CHECK(close(fetch(squares), sums[1]));
  }
}

namespace {

/// means: a plan has so many kernels and guards, and so many kernels without guesses
template <class Careful, class Step>
constexpr bool has(int launches, int guards, int otherwise, Careful const&, Step const&) {
  return Step::launches() == launches && Step::guards() == guards &&
         Step::launches_otherwise() == otherwise && Careful::launches() == otherwise &&
         Careful::guards() == 0;
}
template <class... Assignments>
bool plans(int launches, int guards, int otherwise, Assignments const&... all) {
  return has(launches, guards, otherwise, plan<careful<>>(all...), plan(all...));
}

}  // namespace

TEST_CASE("kernels of open extents, with guesses and without") {
  Vector x, r, p, q, strike, price, call, put, w;
  Matrix X;
  Number s, t;
  CHECK(plans(1, 1, 2, into(s, sum(x)), into(t, sum(r))));
  CHECK(plans(1, 1, 2, into(s, sum(x * r)), into(t, sum(square(x)))));
  CHECK(plans(1, 1, 2, into(call, sqrt(sum<1>(square(X))) * w)));
  CHECK(plans(1, 2, 3, into(x, x + 0.5f * p), into(r, r - 0.5f * q),
              into(s, sum(square(r - 0.5f * q)))));
  let(r - 0.5f * q, [&](auto next) {
    CHECK(plans(1, 1, 2, into(x, x + 0.5f * p), into(r, next), into(s, sum(square(next)))));
  });
  let(log(price / strike) / sqrt(p), [&](auto d) {
    let(d - sqrt(p), [&](auto e) {
      CHECK(plans(1, 1, 4, into(call, price * erf(d) - strike * erf(e)),
                  into(put, strike * erf(-e) - price * erf(-d))));
    });
  });
}

}  // namespace open_extents_test
