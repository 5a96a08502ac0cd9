// SPDX-License-Identifier: Apache-2.0
// Plans under algebra<> beside the same statement as it is written, and beside Eigen, whose products are lazy
// but not reordered; and sums of x * y beside the dot product of the CBLAS. One thread.
#include <cblas.h>

#include <memory>

#include <bench/harness.hpp>

#include <locus/algebra/algebra.hpp>

#if BENCH_EIGEN
#include <Eigen/Core>
#endif

using namespace locus;

namespace {

template <std::int64_t M, std::int64_t N>
using Matrix = Tensor<float, Extents<M, N>>;
template <std::int64_t M, std::int64_t N>
auto random_matrix(std::uint64_t number) {
  return std::make_shared<Matrix<M, N>>(uniform<float>(Extents<M, N>{}, seed{number}));
}
#if BENCH_EIGEN
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <std::int64_t M, std::int64_t N>
Eigen::Map<Rows const> eigen(Matrix<M, N> const& m) {
  return {m.data(), M, N};
}
#endif

template <std::int64_t N>
void add_square() {
  std::string const size = std::to_string(N);
  bench::add("algebra", "sum(matmul(a, b))", size, [](bench::group& g) {
    auto const a = random_matrix<N, N>(1), b = random_matrix<N, N>(2);
    auto const s = std::make_shared<Tensor<float, Extents<>>>();
    g.locus([=] { run<algebra<>>(into(*s, sum(matmul(*a, *b)))); });
    g.rival("as written", 1, [=] { *s = sum(matmul(*a, *b)); });
#if BENCH_EIGEN
    g.rival("Eigen", 1, [=] { *s->data() = (eigen(*a) * eigen(*b)).sum(); });
#endif
  });
  bench::add("algebra", "matmul(matmul(a, b), v)", size, [](bench::group& g) {
    auto const a = random_matrix<N, N>(1), b = random_matrix<N, N>(2);
    auto const v =
        std::make_shared<Tensor<float, Extents<N>>>(uniform<float>(Extents<N>{}, seed{3}));
    auto const y = std::make_shared<Tensor<float, Extents<N>>>();
    g.locus([=] { run<algebra<>>(into(*y, matmul(matmul(*a, *b), *v))); });
    g.rival("as written", 1, [=] { *y = matmul(matmul(*a, *b), *v); });
#if BENCH_EIGEN
    g.rival("Eigen", 1, [=] {
      Eigen::Map<Eigen::VectorXf const> const from(v->data(), N);
      Eigen::Map<Eigen::VectorXf>(y->data(), N) = eigen(*a) * eigen(*b) * from;
    });
#endif
  });
  bench::add("algebra", "sum<1>(expand_dims<2>(a) * expand_dims<0>(b))", size, [](bench::group& g) {
    auto const a = random_matrix<N, N>(1), b = random_matrix<N, N>(2), c = random_matrix<N, N>(3);
    g.locus([=] { run<algebra<>>(into(*c, sum<1>(expand_dims<2>(*a) * expand_dims<0>(*b)))); });
    g.rival("as written", 1, [=] { *c = sum<1>(expand_dims<2>(*a) * expand_dims<0>(*b)); });
  });
}

template <class T>
void add_dot(std::int64_t n) {
  bench::add("algebra", std::string("sum(x * y), ") + (sizeof(T) == 4 ? "float" : "double"),
             std::to_string(n), [=](bench::group& g) {
               using V = Tensor<T, Dextents<1>>;
               auto const x = std::make_shared<V>(uniform<T>(dextents<1>(n), seed{1})),
                          y = std::make_shared<V>(uniform<T>(dextents<1>(n), seed{2}));
               auto const s = std::make_shared<Tensor<T, Extents<>>>();
               g.bytes(2. * double(n) * sizeof(T));
               g.locus([=] { *s = sum(*x * *y); });
               g.rival("cblas_dot", 0.95, [=] {
                 if constexpr (sizeof(T) == 4)
                   *s->data() = cblas_sdot(blasint(n), x->data(), 1, y->data(), 1);
                 else
                   *s->data() = cblas_ddot(blasint(n), x->data(), 1, y->data(), 1);
               });
             });
}

bench::file const groups([] {
  add_square<64>();
  add_square<256>();
  add_square<1000>();
  for (std::int64_t const n : {1 << 10, 1 << 14, 1 << 18, 1 << 22}) {
    add_dot<float>(n);
    add_dot<double>(n);
  }
});

}  // namespace
