// SPDX-License-Identifier: Apache-2.0
// Programs over matrices: a step of power iteration, a Cholesky factor, a solution of equations; beside loops by hand,
// Eigen and Kokkos.
#include <cmath>

#include <bench/host/programs.hpp>

#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/ops/vectors.hpp>

#if BENCH_EIGEN
#include <Eigen/Cholesky>
#include <Eigen/LU>
#endif
#if BENCH_THRUST
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/transform.h>
#endif

using namespace locus;
using bench::drawn, bench::room, bench::values_of;

namespace {

#if BENCH_EIGEN
using eigen_matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
Eigen::Map<eigen_matrix> matrix_of(bench::tensor<double, 2>& x) {
  return {x.data(), x.extent(0), x.extent(1)};
}
Eigen::Map<Eigen::VectorXd> vector_of(bench::tensor<double>& x) { return {x.data(), x.size()}; }
#endif

double row_times(double const* row, double const* x, std::int64_t n) {
  double all = 0;
#pragma omp simd reduction(+ : all)
  for (std::int64_t j = 0; j < n; ++j) all += row[j] * x[j];
  return all;
}
/// y = y / |y| of n elements
void normalise(double* y, double const* x, std::int64_t n) {
  double const length = std::sqrt(row_times(x, x, n));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] / length;
}

void add_power(std::int64_t n) {
  bench::add("programs", "a step of power iteration", std::to_string(n), [=](bench::group& g) {
    auto const a = drawn<double>(Dextents<2>(n, n), 1, 0, 1);
    auto const x = drawn<double>(n, 2, 0, 1), y = room<double>(n), next = room<double>(n),
               own_y = room<double>(n), own = room<double>(n);
    g.bytes(8. * double(n) * double(n));
    g.results(1e-12, [=] { return values_of(*next); }, [=] { return values_of(*own); });
    g.locus([=] {
      *y = matmul(*a, *x);
      *next = *y / norm(*y);
    });
    double const *const rows = a->data(), *const from = x->data();
    double *const product = own_y->data(), *const to = own->data();
    g.rival("a loop", 0, [=] {
      for (std::int64_t i = 0; i < n; ++i) product[i] = row_times(rows + i * n, from, n);
      normalise(to, product, n);
    });
#if BENCH_EIGEN
    g.rival("Eigen", 0.95, [=] {
      auto const image = vector_of(*own_y);
      vector_of(*own_y).noalias() = matrix_of(*a) * vector_of(*x);
      vector_of(*own) = image / image.norm();
    });
#endif
#if BENCH_KOKKOS
    g.rival("Kokkos", 0, [=] {
      Kokkos::parallel_for(bench::kokkos_range(0, n),
                           [=](std::int64_t i) { product[i] = row_times(rows + i * n, from, n); });
      normalise(to, product, n);
    });
#endif
#if BENCH_THRUST
    g.rival("Thrust", 0, [=] {
      thrust::transform(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0),
                        thrust::counting_iterator<std::int64_t>(n), product,
                        [=](std::int64_t i) { return row_times(rows + i * n, from, n); });
      double const length =
          std::sqrt(thrust::inner_product(thrust::cpp::par, product, product + n, product, 0.));
      thrust::transform(thrust::cpp::par, product, product + n, to,
                        [=](double v) { return v / length; });
    });
#endif
  });
}

/// a symmetric matrix whose factor exists
auto positive(std::int64_t n) {
  auto const a = drawn<double>(Dextents<2>(n, n), 3, -1, 1);
  auto const r = room<double>(n, n);
  *r = matmul(*a, transpose(*a));
  for (std::int64_t i = 0; i < n; ++i) (*r)(i, i) += double(n);
  return r;
}

void add_factor(std::int64_t n) {
  bench::add("programs", "Cholesky's factor", std::to_string(n), [=](bench::group& g) {
    auto const a = positive(n), l = room<double>(n, n), own = room<double>(n, n);
    g.operations(double(n) * double(n) * double(n) / 3);
    g.results(1e-12, [=] { return values_of(*l); }, [=] { return values_of(*own); });
    g.locus([=] { *l = cholesky(*a); });
    g.rival("a loop", 0, [=] {
      double const* const from = a->data();
      double* const to = own->data();
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
          double const rest = from[i * n + j] - row_times(to + i * n, to + j * n, j);
          to[i * n + j] = i == j ? std::sqrt(rest) : rest / to[j * n + j];
        }
    });
#if BENCH_EIGEN
    g.rival("Eigen", 0,
            [=] { matrix_of(*own) = Eigen::LLT<eigen_matrix>(matrix_of(*a)).matrixL(); });
#endif
  });
  bench::add("programs", "a solution of equations", std::to_string(n), [=](bench::group& g) {
    auto const a = positive(n), b = drawn<double>(Dextents<2>(n, 4), 5, -1, 1),
               x = room<double>(n, 4), own = room<double>(n, 4);
    g.operations(2 * double(n) * double(n) * double(n) / 3);
    g.results(1e-12, [=] { return values_of(*x); }, [=] { return values_of(*own); });
    g.locus([=] { *x = solve(*a, *b); });
#if BENCH_EIGEN
    g.rival("Eigen", 0, [=] {
      matrix_of(*own) = Eigen::PartialPivLU<eigen_matrix>(matrix_of(*a)).solve(matrix_of(*b));
    });
#endif
  });
}

bench::file const groups([] {
  for (std::int64_t const n : {64, 512, 2048}) add_power(n);
  for (std::int64_t const n : {64, 512}) add_factor(n);
});

}  // namespace
