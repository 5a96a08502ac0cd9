// SPDX-License-Identifier: Apache-2.0
// Products: small ones with extents in the type and without, large ones, and products that a fold or
// a map reads and nobody stores. OpenBLAS is as it detects the processor; LOCUS_MATMUL and
// OPENBLAS_CORETYPE, set before the start, choose otherwise.
#include <memory>

#include <cblas.h>

#include <bench/harness.hpp>
#include <bench/host/loops.hpp>
#if BENCH_EIGEN
#include <Eigen/Dense>
#endif

using namespace locus;

namespace {

template <class T>
using Matrix = Tensor<T, Dextents<2>>;
template <class T>
std::shared_ptr<Matrix<T>> random(std::int64_t rows, std::int64_t columns, unsigned seed) {
  return std::make_shared<Matrix<T>>(uniform<T>(dextents<2>{rows, columns}, locus::seed{seed}));
}
/// c = a b
void gemm(Matrix<float>& c, Matrix<float> const& a, Matrix<float> const& b) {
  auto const m = static_cast<int>(a.extent(0)), k = static_cast<int>(a.extent(1)),
             n = static_cast<int>(b.extent(1));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data(), k, b.data(), n, 0,
              c.data(), n);
}
void gemm(Matrix<double>& c, Matrix<double> const& a, Matrix<double> const& b) {
  auto const m = static_cast<int>(a.extent(0)), k = static_cast<int>(a.extent(1)),
             n = static_cast<int>(b.extent(1));
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data(), k, b.data(), n, 0,
              c.data(), n);
}
#if BENCH_EIGEN
template <class T>
using rows_of = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
auto eigen(Matrix<T>& m) {
  return Eigen::Map<rows_of<T>>(m.data(), m.extent(0), m.extent(1));
}
#endif

template <class T>
char const* name_of_type() {
  return sizeof(T) == 4 ? "float" : "double";
}
/// runs of one measured call, so that a small product is longer than the clock's step
template <class F>
auto often(int times, F f) {
  return [=] {
    for (int i = 0; i < times; ++i) {
      f();
      benchmark::ClobberMemory();
    }
  };
}

template <class T, int N>
void add_small() {
  std::string const size = std::to_string(N) + ", " + name_of_type<T>();
  int const times = N >= 64 ? 1 : 1000 / N;
  for (bool in_type : {true, false})
    bench::add("matmul", in_type ? "small, extents in the type" : "small, open extents", size,
               [=](bench::group& g) {
                 auto const a = random<T>(N, N, 1), b = random<T>(N, N, 2), c = random<T>(N, N, 3);
                 g.operations(2. * N * N * N * times);
                 using Fixed = Tensor<T, Extents<N, N>>;
                 auto const x = std::make_shared<Fixed>(*a), y = std::make_shared<Fixed>(*b),
                            z = std::make_shared<Fixed>(*c);
                 if (in_type)
                   g.locus(often(times, [=] { *z = matmul(*x, *y); }));
                 else
                   g.locus(often(times, [=] { *c = matmul(*a, *b); }));
                 g.rival("OpenBLAS", in_type ? 1 : 0, often(times, [=] { gemm(*c, *a, *b); }));
#if BENCH_EIGEN
                 using E = Eigen::Map<Eigen::Matrix<T, N, N, Eigen::RowMajor>>;
                 if (in_type)
                   g.rival("Eigen, fixed", 1.3, often(times, [=] {
                             E(c->data()).noalias() = E(a->data()) * E(b->data());
                           }));
                 else
                   g.rival("Eigen", 1.3,
                           often(times, [=] { eigen(*c).noalias() = eigen(*a) * eigen(*b); }));
#endif
               });
}

template <class T>
void add_large(std::int64_t n) {
  bench::add("matmul", "large", std::to_string(n) + ", " + name_of_type<T>(), [=](bench::group& g) {
    auto const a = random<T>(n, n, 1), b = random<T>(n, n, 2), c = random<T>(n, n, 3);
    auto const d = static_cast<double>(n);
    g.operations(2 * d * d * d);
    g.locus([=] { *c = matmul(*a, *b); });
    g.rival("OpenBLAS", 0.97, [=] { gemm(*c, *a, *b); });
#if BENCH_EIGEN
    g.rival("Eigen", 1.2, [=] { eigen(*c).noalias() = eigen(*a) * eigen(*b); });
#endif
  });
}

bench::file const groups([] {
  add_small<float, 8>(), add_small<float, 16>(), add_small<float, 32>(), add_small<float, 64>();
  add_small<double, 8>(), add_small<double, 32>();
  for (std::int64_t n : {512, 1024, 2048}) add_large<float>(n);
  add_large<double>(1024);

  // (10000,100) x (100,100000), summed: the product would have 4 GB
  bench::add("matmul", "sum(matmul(a, b))", "10000 x 100 x 100000", [](bench::group& g) {
    auto const a = random<float>(10000, 100, 1), b = random<float>(100, 100000, 2);
    g.operations(2e11);
    g.locus([=] {
      float const s = fetch(on<CpuDevice>(sum(matmul(*a, *b))));
      benchmark::DoNotOptimize(s);
    });
    if (runtime::physical_memory() < (std::int64_t(10) << 30)) return;
    auto const c = random<float>(10000, 100000, 3);
    g.rival("OpenBLAS into 4 GB, then sum", 0.8, [=] {
      gemm(*c, *a, *b);
      float const s = fetch(on<CpuDevice>(sum(*c)));
      benchmark::DoNotOptimize(s);
    });
  });

  bench::add("matmul", "relu(matmul(x, w) + bias)", "256 x 784 x 128", [](bench::group& g) {
    auto const x = random<float>(256, 784, 1), w = random<float>(784, 128, 2),
               y = random<float>(256, 128, 3);
    auto const bias =
        std::make_shared<Tensor<float, Dextents<1>>>(uniform<float>(dextents<1>{128}, seed{4}));
    g.operations(2. * 256 * 784 * 128);
    g.locus([=] { *y = relu(matmul(*x, *w) + *bias); });
    g.rival("OpenBLAS, then a loop", 0.97, [=] {
      gemm(*y, *x, *w);
      for (std::int64_t i = 0; i < 256; ++i) {
        float* const row = y->data() + i * 128;
        float const* const add = bias->data();
#pragma omp simd
        for (std::int64_t j = 0; j < 128; ++j) row[j] = row[j] + add[j] > 0 ? row[j] + add[j] : 0;
      }
    });
#if BENCH_EIGEN
    g.rival("Eigen", 1.2, [=] {
      auto to = eigen(*y);
      Eigen::Map<Eigen::RowVectorXf> const add(bias->data(), 128);
      to.noalias() = eigen(*x) * eigen(*w);
      to = (to.rowwise() + add).cwiseMax(0.f);
    });
#endif
  });
});

}  // namespace
