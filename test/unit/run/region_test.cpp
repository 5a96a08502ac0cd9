// SPDX-License-Identifier: Apache-2.0
// Kernels that fold and store several values: one launch, the plan's counts and the oracle's numbers
// on the host, on simulated GPUs and on the recorded CUDA path.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>

#include <cmath>
#include <vector>

#include <oracle.hpp>
#include <worst_of.hpp>

namespace region_test {

using namespace locus;

namespace {

constexpr int n = 5003;  // blocks, a part of one, and a tail
using Vector = Tensor<float, Extents<n>, CpuDevice>;
using Number = Tensor<float, Extents<>, CpuDevice>;

void fill(Vector& v, unsigned seed) {
  oracle::random draw(seed);
  for (int k = 0; k < n; ++k) v.data()[k] = draw.value<float>(-1, 1);
}
double at(Number const& t) { return static_cast<double>(*t.data()); }

struct sums {
  long double dot = 0, most = 0, squares = 0, sum = 0;
  sums(float const* x, float const* y) {
    for (int k = 0; k < n; ++k) {
      long double const a = x[k], b = y[k];
      dot += a * b, squares += a * a, sum += a, most = std::fabs(a) > most ? std::fabs(a) : most;
    }
  }
};
bool close(double got, long double want) { return std::fabs(got - double(want)) < 1e-6 * n * 0.1; }

}  // namespace

TEST_CASE("three reductions of one space are one kernel") {
  on_backends([] {
    Vector x, y;
    fill(x, 1), fill(y, 2);
    sums const want(x.data(), y.data());
    Number s, m, q;
    auto const step = plan(into(s, sum(x * y)), into(m, max(abs(x))), into(q, sum(square(x))));
    static_assert(step.launches() == 1);
    run(step);
    CHECK(close(at(s), want.dot));
    CHECK(at(m) == double(want.most));
    CHECK(close(at(q), want.squares));
  });
}

TEST_CASE("a map and folds of its values are one kernel, also in place; one leaf is read once") {
  on_backends([] {
    Vector x, y;
    fill(x, 3);
    sums const want(x.data(), x.data());
    Number s, q;
    let(x, [&](auto v) {
      let(v * 2.f + 1.f, [&](auto e) {
        auto const step = plan(into(y, e), into(s, sum(e)), into(q, sum(square(v))));
        static_assert(step.launches() == 1 && step.bytes_read() == 4 * n);
        static_assert(step.bytes_written() == 4 * n + 8 && step.flops() == 5 * n);
        run(step);
      });
    });
    CHECK(close(at(s), 2 * want.sum + n));
    CHECK(close(at(q), want.squares));
    bool all = true;
    for (int k = 0; k < n; ++k) all = all && y.data()[k] == x.data()[k] * 2.f + 1.f;
    CHECK(all);
    // every right side is computed before a left side is written
    let(x, [&](auto v) { run(plan(into(x, v * 2.f + 1.f), into(q, sum(square(v))))); });
    CHECK(close(at(q), want.squares));
    bool same = true;
    for (int k = 0; k < n; ++k) same = same && y.data()[k] == x.data()[k];
    CHECK(same);
  });
}

TEST_CASE("mean and variance are one kernel, and what follows folds may be several values") {
  on_backends([] {
    Vector x;
    fill(x, 4);
    sums const want(x.data(), x.data());
    Number m, v, d;
    let(x, [&](auto a) {
      let(mean(a), [&](auto mu) {
        let(mean(square(a)) - square(mu), [&](auto var) {
          auto const step = plan(into(m, mu), into(v, var), into(d, sqrt(var)));
          static_assert(step.launches() == 1 && step.bytes_read() == 4 * n);
          run(step);
        });
      });
    });
    long double const mu = want.sum / n, var = want.squares / n - mu * mu;
    CHECK(std::fabs(at(m) - double(mu)) < 1e-6);
    CHECK(std::fabs(at(v) - double(var)) < 1e-6);
    CHECK(std::fabs(at(d) - std::sqrt(double(var))) < 1e-6);
  });
}

TEST_CASE("folds of columns and of rows with elements beside them") {
  on_backends([] {
    constexpr int rows = 131, columns = 70;
    using Matrix = Tensor<float, Extents<rows, columns>, CpuDevice>;
    Matrix x, y, z;
    oracle::random draw(5);
    for (int k = 0; k < rows * columns; ++k) x.data()[k] = draw.value<float>(-1, 1);
    Tensor<float, Extents<columns>, CpuDevice> s, m;
    Tensor<float, Extents<rows>, CpuDevice> t, u;
    let(x, [&](auto v) {
      auto const by_columns = plan(into(s, sum<0>(v) * 2.f), into(m, min<0>(v)), into(y, -v));
      static_assert(by_columns.launches() == 1);
      run(by_columns);
      auto const by_rows = plan(into(t, sum<1>(v) * 2.f), into(u, max<1>(v)), into(z, v + v));
      static_assert(by_rows.launches() == 1);
      run(by_rows);
    });
    double worst = 0;
    bool exact = true;
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      float least = 2;
      for (int i = 0; i < rows; ++i) {
        float const a = x.data()[i * columns + j];
        sum += 2 * double(a), least = a < least ? a : least;
        exact = exact && y.data()[i * columns + j] == -a && z.data()[i * columns + j] == a + a;
      }
      worst = worst_of(worst, std::fabs(double(s.data()[j]) - sum));
      exact = exact && m.data()[j] == least;
    }
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      float most = -2;
      for (int j = 0; j < columns; ++j) {
        float const a = x.data()[i * columns + j];
        sum += 2 * double(a), most = a > most ? a : most;
      }
      worst = worst_of(worst, std::fabs(double(t.data()[i]) - sum));
      exact = exact && u.data()[i] == most;
    }
    CHECK(worst < 1e-4);
    CHECK(exact);
  });
}

TEST_CASE("a chain of folds stores several values of its elements, or of its rows") {
  on_backends([] {
    constexpr int rows = 9, columns = 37;
    using Matrix = Tensor<float, Extents<rows, columns>, CpuDevice>;
    Matrix x, y, z;
    oracle::random draw(6);
    for (int k = 0; k < rows * columns; ++k) x.data()[k] = draw.value<float>(-3, 3);
    Tensor<float, Extents<rows>, CpuDevice> b, s, t;
    for (int i = 0; i < rows; ++i) b.data()[i] = static_cast<float>(i);
    let(softmax(x), [&](auto e) {
      auto const step = plan(into(y, e), into(z, e * 2.f));
      static_assert(step.launches() == 1);
      run(step);
    });
    // the rows' own axes: what follows sum<1> meets b along them, though the maximum kept an axis
    let(log(sum<1>(exp(x - max<1>(x, keep_dims)))), [&](auto l) {
      auto const step = plan(into(s, l + b), into(t, l * 2.f));
      static_assert(step.launches() == 1);
      run(step);
    });
    double worst = 0;
    for (int i = 0; i < rows; ++i) {
      float const* const row = x.data() + i * columns;
      double most = -4, sum = 0;
      for (int j = 0; j < columns; ++j) most = std::fmax(most, double(row[j]));
      for (int j = 0; j < columns; ++j) sum += std::exp(double(row[j]) - most);
      for (int j = 0; j < columns; ++j) {
        double const p = std::exp(double(row[j]) - most) / sum;
        worst = worst_of(worst, std::fabs(double(y.data()[i * columns + j]) - p));
        worst = worst_of(worst, std::fabs(double(z.data()[i * columns + j]) - 2 * p));
      }
      worst = worst_of(worst, std::fabs(double(s.data()[i]) - (std::log(sum) + i)));
      worst = worst_of(worst, std::fabs(double(t.data()[i]) - 2 * std::log(sum)));
    }
    CHECK(worst < 1e-5);
  });
}

TEST_CASE(
    "pieces: the element-wise operand of a sum stays in its kernel; all-reduces travel together") {
  for (backends::machine const& m : backends::few_machines) {
    if (!m.has_gpu()) continue;
    backends::run_on(m, [] {
      using Pieces = Tensor<float, Extents<n>, Sharded<0, GpuDevice<0>, GpuDevice<1>>>;
      Vector x;
      fill(x, 7);
      sums const want(x.data(), x.data());
      Pieces p;
      p = x;
      Tensor<float, Extents<>, Mirrored<GpuDevice<0>, GpuDevice<1>>> s, q, most;
      auto const step =
          plan(into(s, sum(p * 2.f)), into(q, sum(square(p))), into(most, max(abs(p))));
      static_assert(step.launches() == 1);
      run(step);
      CHECK(close(double(fetch(s)), 2 * want.sum));
      CHECK(close(double(fetch(q)), want.squares));
      CHECK(double(fetch(most)) == double(want.most));
    });
  }
}

TEST_CASE("folds of one value share a kernel, also where its extents are open") {
  Tensor<float, Dextents<1>> const x(uniform<float>(dextents<1>{1000}, seed{1})),
      y(uniform<float>(dextents<1>{1000}, seed{2}));
  Tensor<float, Extents<>> s, m, q;
  let(x - y, [&](auto d) {
    auto const step = plan(into(s, sum(d)), into(m, max(d)), into(q, sum(square(d))));
    static_assert(step.launches() == 1);
    run(step);
  });
  double sums[2]{}, largest = -1;
  for (int i = 0; i < 1000; ++i) {
    double const d = double(x.data()[i]) - double(y.data()[i]);
    sums[0] += d, sums[1] += d * d, largest = d > largest ? d : largest;
  }
  CHECK(fetch(s) == doctest::Approx(sums[0]).epsilon(1e-5));
  CHECK(fetch(q) == doctest::Approx(sums[1]).epsilon(1e-6));
  CHECK(fetch(m) == doctest::Approx(largest));
  auto const apart = plan(into(s, sum(x)), into(q, sum(y)));  // of one length, if the run finds so
  static_assert(apart.launches() == 1 && apart.guards() == 1 && apart.launches_otherwise() == 2);
}

}  // namespace region_test
