// SPDX-License-Identifier: Apache-2.0
// Statements of solvers: stencils of slices from caches to memory, short rows with many operands,
// matrices times vectors, and the number that a test of convergence reads.
#include <memory>

#if BENCH_EIGEN
#include <Eigen/Core>
#endif
#include <bench/harness.hpp>

using namespace locus;

namespace {

template <int Rank, class... N>
auto random(unsigned seed, N... n) {
  return std::make_shared<Tensor<double, Dextents<Rank>>>(
      uniform<double>(Dextents<Rank>(n...), locus::seed{seed}));
}
range const inside{1, -1}, before{0, -2};

void add_jacobi(std::int64_t n) {
  bench::add("statements", "five-point stencil of slices", std::to_string(n) + "^2",
             [=](bench::group& g) {
               auto const u = random<2>(1, n, n), v = random<2>(2, n, n);
               g.bytes(16. * double(n) * double(n));
               g.locus([=] {
                 range const after{2, n};
                 run(into(slice(*v, inside, inside),
                          0.25 * (slice(*u, before, inside) + slice(*u, after, inside) +
                                  slice(*u, inside, before) + slice(*u, inside, after))));
               });
               g.rival("loop, omp simd", 0.95, [=] {
                 double const* const from = u->data();
                 double* const to = v->data();
                 for (std::int64_t i = 1; i < n - 1; ++i)
#pragma omp simd
                   for (std::int64_t j = 1; j < n - 1; ++j) {
                     std::int64_t const o = i * n + j;
                     to[o] = 0.25 * (from[o - n] + from[o + n] + from[o - 1] + from[o + 1]);
                   }
               });
             });
}

void add_wave(std::int64_t n) {
  bench::add("statements", "seven-point stencil and two time levels", std::to_string(n) + "^3",
             [=](bench::group& g) {
               auto const u = random<3>(1, n, n, n), p = random<3>(2, n, n, n),
                          q = random<3>(3, n, n, n);
               g.bytes(24. * double(n) * double(n) * double(n));
               g.locus([=] {
                 range const after{2, n};
                 auto const part = [&](range a, range b, range c) { return slice(*u, a, b, c); };
                 run(into(slice(*q, inside, inside, inside),
                          2. * part(inside, inside, inside) - slice(*p, inside, inside, inside) +
                              .1 * (part(before, inside, inside) + part(after, inside, inside) +
                                    part(inside, before, inside) + part(inside, after, inside) +
                                    part(inside, inside, before) + part(inside, inside, after) -
                                    6. * part(inside, inside, inside))));
               });
               g.rival("loop, omp simd", 0.9, [=] {
                 double const *const x = u->data(), *const old = p->data();
                 double* const to = q->data();
                 std::int64_t const m = n * n;
                 for (std::int64_t i = 1; i < n - 1; ++i)
                   for (std::int64_t j = 1; j < n - 1; ++j)
#pragma omp simd
                     for (std::int64_t k = 1; k < n - 1; ++k) {
                       std::int64_t const o = i * m + j * n + k;
                       to[o] = 2 * x[o] - old[o] +
                               .1 * (x[o - m] + x[o + m] + x[o - n] + x[o + n] + x[o - 1] +
                                     x[o + 1] - 6 * x[o]);
                     }
               });
             });
}

#if BENCH_EIGEN
using Rows = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using Vector = Eigen::Map<Eigen::VectorXd>;
#endif
template <class Own, class Theirs>
void add_product(char const* what, std::int64_t n, Own const& own, Theirs const& theirs) {
  bench::add("statements", what, std::to_string(n), [=](bench::group& g) {
    auto const a = random<2>(1, n, n);
    auto const x = random<1>(2, n), y = random<1>(3, n);
    auto const column = random<2>(4, n, std::int64_t(1)), result = random<2>(5, n, std::int64_t(1));
    g.bytes(8. * double(n) * double(n));
    g.locus([=] { own(*a, *x, *y, *column, *result); });
#if BENCH_EIGEN
    g.rival("Eigen", 0.95, [=] {
      Vector to(y->data(), n);
      theirs(Rows(a->data(), n, n), Vector(x->data(), n), to);
    });
#else
    static_cast<void>(theirs);
#endif
  });
}

bench::file const groups([] {
  for (std::int64_t n = 700; n <= 1200; n += 50) add_jacobi(n);
  for (std::int64_t n : {18, 32, 64, 96, 128}) add_wave(n);
  for (std::int64_t n : {512, 2048}) {
    add_product(
        "matrix times vector", n, [](auto& a, auto& x, auto& y, auto&, auto&) { y = matmul(a, x); },
        [](auto const& a, auto const& x, auto& y) { y.noalias() = a * x; });
    add_product(
        "matrix times a matrix of one column", n,
        [](auto& a, auto&, auto&, auto& x, auto& y) { y = matmul(a, x); },
        [](auto const& a, auto const& x, auto& y) { y.noalias() = a * x; });
    add_product(
        "transposed matrix times vector", n,
        [](auto& a, auto& x, auto& y, auto&, auto&) { y = matmul(transpose(a), x); },
        [](auto const& a, auto const& x, auto& y) { y.noalias() = a.transpose() * x; });
    add_product(
        "vector times matrix", n, [](auto& a, auto& x, auto& y, auto&, auto&) { y = matmul(x, a); },
        [](auto const& a, auto const& x, auto& y) { y.noalias() = a.transpose() * x; });
  }
  bench::add("statements", "fetch of a number on the host", "1", [](bench::group& g) {
    auto const s = std::make_shared<Tensor<double, Extents<>>>(full<double>(Extents<>{}, 2.));
    g.locus([=] { benchmark::DoNotOptimize(fetch(*s)); });
    g.rival("s()", 0.2, [=] { benchmark::DoNotOptimize((*s)()); });
  });
});

}  // namespace
