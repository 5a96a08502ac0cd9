// SPDX-License-Identifier: Apache-2.0
// Reductions on the host beside Eigen, Armadillo and Thrust's OpenMP back end.
#include <cmath>
#include <memory>
#include <random>

#include <bench/harness.hpp>
#include <bench/host/loops.hpp>

#if BENCH_EIGEN
#include <Eigen/Core>
#endif
#if BENCH_ARMADILLO
#define ARMA_NO_DEBUG
#include <armadillo>
#endif
#if BENCH_THRUST
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/transform_reduce.h>
#endif

using namespace locus;

namespace {

using Vector = Tensor<float, Dextents<1>>;
using Matrix = Tensor<float, Dextents<2>>;

std::shared_ptr<Vector> vector(std::int64_t n, unsigned seed) {
  return std::make_shared<Vector>(uniform<float>(dextents<1>{n}, locus::seed{seed}));
}
std::shared_ptr<Matrix> matrix(std::int64_t m, std::int64_t n, unsigned seed) {
  return std::make_shared<Matrix>(uniform<float>(dextents<2>{m, n}, locus::seed{seed}));
}
void keep(float x) { benchmark::DoNotOptimize(x); }

/// error of a sum of n values over the sum of their absolute values
std::string error_of(float sum, Vector const& x) {
  long double right = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) right += x.data()[i];
  char text[40];
  std::snprintf(text, sizeof text, "error %.1e", double(std::abs(sum - right) / right));
  return text;
}
#if BENCH_EIGEN
auto map_of(Vector const& x) {
  return Eigen::Map<Eigen::ArrayXf const, Eigen::Aligned64>(x.data(), x.size());
}
using Rows = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
auto map_of(Matrix const& x) {
  return Eigen::Map<Rows const>(x.data(), x.extents().extent(0), x.extents().extent(1));
}
#endif

void add_vectors(bench::level const& l) {
  std::int64_t const n = l.bytes / 4;
  double const bytes = double(l.bytes), goal = l.bytes > (64 << 10) ? 0.95 : 0;
  bench::add("folds", "sum(x)", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1);
    g.bytes(bytes), g.operations(double(n));
    g.locus([=] { keep(fetch(on<CpuDevice>(sum(*x)))); },
            error_of(fetch(on<CpuDevice>(sum(*x))), *x));
    g.limit("read", 0, [=] { keep(loops::read(x->data(), std::size_t(n))); });
#if BENCH_EIGEN
    g.rival("Eigen", goal, [=] { keep(map_of(*x).sum()); }, error_of(map_of(*x).sum(), *x));
#endif
#if BENCH_THRUST
    g.rival(
        "Thrust", goal > 0 ? 5 : 0,
        [=] { keep(thrust::reduce(thrust::omp::par, x->data(), x->data() + n)); },
        error_of(thrust::reduce(thrust::omp::par, x->data(), x->data() + n), *x));
#endif
  });
  bench::add("folds", "dot: sum(x * y)", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1), y = vector(n, 2);
    g.bytes(2 * bytes), g.operations(2 * double(n));
    g.locus([=] { keep(fetch(on<CpuDevice>(sum(*x * *y)))); });
#if BENCH_EIGEN
    g.rival("Eigen", goal, [=] { keep((map_of(*x) * map_of(*y)).sum()); });
#endif
#if BENCH_THRUST
    g.rival("Thrust", goal > 0 ? 5 : 0, [=] {
      keep(thrust::inner_product(thrust::omp::par, x->data(), x->data() + n, y->data(), 0.f));
    });
#endif
  });
  bench::add("folds", "sum((x - y)^2)", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1), y = vector(n, 2);
    g.bytes(2 * bytes), g.operations(3 * double(n));
    g.locus([=] { keep(fetch(on<CpuDevice>(sum(square(*x - *y))))); });
#if BENCH_EIGEN
    g.rival("Eigen", goal, [=] { keep((map_of(*x) - map_of(*y)).square().sum()); });
#endif
#if BENCH_THRUST
    g.rival("Thrust", goal > 0 ? 5 : 0, [=] {
      keep(thrust::inner_product(thrust::omp::par, x->data(), x->data() + n, y->data(), 0.f,
                                 thrust::plus<float>{},
                                 [](float a, float b) { return (a - b) * (a - b); }));
    });
#endif
  });
  bench::add("folds", "max(abs(x))", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1);
    g.bytes(bytes), g.operations(2 * double(n));
    g.locus([=] { keep(fetch(on<CpuDevice>(locus::max(locus::abs(*x))))); });
#if BENCH_EIGEN
    g.rival("Eigen", goal, [=] { keep(map_of(*x).abs().maxCoeff()); });
#endif
#if BENCH_THRUST
    g.rival("Thrust", goal > 0 ? 5 : 0, [=] {
      keep(thrust::transform_reduce(
          thrust::omp::par, x->data(), x->data() + n, [](float a) { return std::fabs(a); }, 0.f,
          thrust::maximum<float>{}));
    });
#endif
  });
  bench::add("folds", "argmax(x)", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1);
    g.bytes(bytes);
    g.locus([=] { keep(float(fetch(on<CpuDevice>(argmax(*x))))); });
#if BENCH_EIGEN
    g.rival("Eigen", l.bytes > (64 << 10) && l.bytes < (64 << 20) ? 12 : 0, [=] {
      Eigen::Index at = 0;
      keep(map_of(*x).maxCoeff(&at));
      keep(float(at));
    });
#endif
  });
  bench::add("folds", "sum, max and sum of squares of x - y", l.name, [=](bench::group& g) {
    auto const x = vector(n, 1), y = vector(n, 2);
    auto const s = std::make_shared<Tensor<float, Extents<>>>(),
               m = std::make_shared<Tensor<float, Extents<>>>(),
               q = std::make_shared<Tensor<float, Extents<>>>();
    g.bytes(2 * bytes), g.operations(6 * double(n));
    g.locus([=] {
      let(*x - *y, [&](auto d) {
        run(plan(into(*s, sum(d)), into(*m, locus::max(d)), into(*q, sum(square(d)))));
      });
    });
    g.rival("three passes", l.bytes > (64 << 20) ? 2 : 0, [=] {
      run(into(*s, sum(*x - *y)));
      run(into(*m, locus::max(*x - *y)));
      run(into(*q, sum(square(*x - *y))));
    });
  });
}

void add_matrices(char const* size, std::int64_t m, std::int64_t n, bool near) {
  double const bytes = 4. * double(m) * double(n);
  bench::add("folds", "column sums: sum<0>(M)", size, [=](bench::group& g) {
    auto const x = matrix(m, n, 1);
    auto const r = std::make_shared<Vector>(zeros<float>(dextents<1>{n}));
    g.bytes(bytes);
    g.locus([=] { *r = sum<0>(*x); });
#if BENCH_ARMADILLO
    // column-major: the same memory is n x m, and the sums go along its rows
    auto const a = std::make_shared<arma::fmat>(x->data(), arma::uword(n), arma::uword(m), false);
    auto const b = std::make_shared<arma::fvec>(arma::uword(n));
    g.rival("Armadillo", 1.0, [=] { *b = arma::sum(*a, 1); });
#endif
#if BENCH_EIGEN
    g.rival("Eigen", 0, [=] {
      Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>(r->data(), n) = map_of(*x).colwise().sum();
    });
#endif
  });
  bench::add("folds", "row sums: sum<1>(M)", size, [=](bench::group& g) {
    auto const x = matrix(m, n, 1);
    auto const r = std::make_shared<Vector>(zeros<float>(dextents<1>{m}));
    g.bytes(bytes);
    g.locus([=] { *r = sum<1>(*x); });
#if BENCH_EIGEN
    g.rival("Eigen", 0,
            [=] { Eigen::Map<Eigen::ArrayXf>(r->data(), m) = map_of(*x).rowwise().sum(); });
#endif
  });
  bench::add("folds", "softmax of rows", size, [=](bench::group& g) {
    auto const x = matrix(m, n, 1), y = matrix(m, n, 2);
    g.bytes(2 * bytes);
    g.locus([=] { *y = softmax(*x); });
#if BENCH_EIGEN
    g.rival("Eigen, row by row", near ? 1.2 : 0, [=] {
      auto const from = map_of(*x);
      Eigen::Map<Rows> to(y->data(), m, n);
      for (Eigen::Index i = 0; i < m; ++i) {
        to.row(i) = (from.row(i) - from.row(i).maxCoeff()).exp();
        to.row(i) *= 1 / to.row(i).sum();
      }
    });
#endif
    g.rival("plain loops", 8, [=] {
      for (std::int64_t i = 0; i < m; ++i) {
        float const* const from = x->data() + i * n;
        float* const to = y->data() + i * n;
        float most = from[0], total = 0;
        for (std::int64_t j = 1; j < n; ++j) most = from[j] > most ? from[j] : most;
        for (std::int64_t j = 0; j < n; ++j) total += to[j] = std::exp(from[j] - most);
        for (std::int64_t j = 0; j < n; ++j) to[j] /= total;
      }
    });
  });
}

bench::file const groups([] {
  for (bench::level const& l : bench::levels) add_vectors(l);
  add_matrices("L2, 256 x 256", 256, 256, true);
  add_matrices("L3, 2048 x 1024", 2048, 1024, true);
  add_matrices("DRAM, 32768 x 1024", 32768, 1024, true);
});

}  // namespace
