// SPDX-License-Identifier: Apache-2.0
// BabelStream's kernels, from their published definition: copy c = a, mul b = s c, add c = a + b, triad
// a = b + s c, dot sum(a b), nstream a += b + s c, with a = 0.1, b = 0.2, c = 0, s = 0.4, over doubles, in
// this order, so that each finds in the caches what the one before left. Beside plain loops of OpenMP and
// Thrust's OpenMP back end, one thread and two; beside Kokkos, whose package has its serial back end alone, and
// standard algorithms, one thread. The results of all are held against the values that the definition gives.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include <bench/harness.hpp>
#include <omp.h>

#if BENCH_KOKKOS
#include <Kokkos_Core.hpp>
#endif
#if BENCH_THRUST
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/transform.h>
#endif

using namespace locus;

namespace {

using Array = Tensor<double, Dextents<1>>;
constexpr double scalar = 0.4, start_a = 0.1, start_b = 0.2, start_c = 0.0;

/// the arrays of one candidate
struct arrays {
  Array a, b, c;
  explicit arrays(std::int64_t n)
      : a(full<double>(dextents<1>(n), start_a)), b(full<double>(dextents<1>(n), start_b)),
        c(full<double>(dextents<1>(n), start_c)) {}
  std::int64_t size() const { return a.size(); }
};
struct by_locus : arrays {
  using arrays::arrays;
  void copy() { c = a; }
  void mul() { b = scalar * c; }
  void add() { c = a + b; }
  void triad() { a = b + scalar * c; }
  void nstream() { a = a + b + scalar * c; }
  double dot() { return fetch(sum(a * b)); }
};

/// the kernels by a library's loop: Library::loop(n, f), Library::dot(n, x, y)
template <class Library>
struct by_index : arrays {
  using arrays::arrays;
  void copy() {
    Library::loop(size(), [x = a.data(), z = c.data()](std::int64_t i) { z[i] = x[i]; });
  }
  void mul() {
    Library::loop(size(), [y = b.data(), z = c.data()](std::int64_t i) { y[i] = scalar * z[i]; });
  }
  void add() {
    Library::loop(
        size(), [x = a.data(), y = b.data(), z = c.data()](std::int64_t i) { z[i] = x[i] + y[i]; });
  }
  void triad() {
    Library::loop(size(), [x = a.data(), y = b.data(), z = c.data()](std::int64_t i) {
      x[i] = y[i] + scalar * z[i];
    });
  }
  void nstream() {
    Library::loop(size(), [x = a.data(), y = b.data(), z = c.data()](std::int64_t i) {
      x[i] += y[i] + scalar * z[i];
    });
  }
  double dot() { return Library::dot(size(), a.data(), b.data()); }
};
struct openmp {
  template <class F>
  static void loop(std::int64_t n, F const& f) {
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  static double dot(std::int64_t n, double const* x, double const* y) {
    double all = 0;
#pragma omp parallel for simd reduction(+ : all)
    for (std::int64_t i = 0; i < n; ++i) all += x[i] * y[i];
    return all;
  }
};
#if BENCH_KOKKOS
struct kokkos {
  using range = Kokkos::RangePolicy<Kokkos::Serial>;
  template <class F>
  static void loop(std::int64_t n, F const& f) {
    Kokkos::parallel_for(range(0, std::size_t(n)), f);
  }
  static double dot(std::int64_t n, double const* x, double const* y) {
    double all = 0;
    Kokkos::parallel_reduce(
        range(0, std::size_t(n)), [=](std::int64_t i, double& own) { own += x[i] * y[i]; }, all);
    return all;
  }
};
#endif

/// the kernels by algorithms over pointers: Library::map(n, f, to, from...), Library::dot(n, x, y)
template <class Library>
struct by_algorithm : arrays {
  using arrays::arrays;
  void copy() {
    Library::map(size(), [](double x) { return x; }, c.data(), a.data());
  }
  void mul() {
    Library::map(size(), [](double z) { return scalar * z; }, b.data(), c.data());
  }
  void add() {
    Library::map(size(), [](double x, double y) { return x + y; }, c.data(), a.data(), b.data());
  }
  void triad() {
    Library::map(
        size(), [](double y, double z) { return y + scalar * z; }, a.data(), b.data(), c.data());
  }
  void nstream() {  // two operands an algorithm
    Library::map(size(), [](double x, double y) { return x + y; }, a.data(), a.data(), b.data());
    Library::map(
        size(), [](double x, double z) { return x + scalar * z; }, a.data(), a.data(), c.data());
  }
  double dot() { return Library::dot(size(), a.data(), b.data()); }
};
struct standard {
  template <class F>
  static void map(std::int64_t n, F f, double* to, double const* x) {
    std::transform(x, x + n, to, f);
  }
  template <class F>
  static void map(std::int64_t n, F f, double* to, double const* x, double const* y) {
    std::transform(x, x + n, y, to, f);
  }
  static double dot(std::int64_t n, double const* x, double const* y) {
    return std::transform_reduce(x, x + n, y, 0.);
  }
};
#if BENCH_THRUST
struct by_thrust {
  template <class F>
  static void map(std::int64_t n, F f, double* to, double const* x) {
    thrust::transform(thrust::omp::par, x, x + n, to, f);
  }
  template <class F>
  static void map(std::int64_t n, F f, double* to, double const* x, double const* y) {
    thrust::transform(thrust::omp::par, x, x + n, y, to, f);
  }
  static double dot(std::int64_t n, double const* x, double const* y) {
    return thrust::inner_product(thrust::omp::par, x, x + n, y, 0.);
  }
};
#endif

/// fails: runtime_error where a mean error is above that of the definition: 100 epsilons; 1e-8 of dot
template <class Arrays>
void check(Arrays& of) {
  double x = start_a, y = start_b, z = start_c, dot = 0;
  for (int k = 0; k < 4; ++k) {
    of.copy(), of.mul(), of.add(), of.triad();
    dot = of.dot();
    z = x, y = scalar * z, z = x + y, x = y + scalar * z;
  }
  of.nstream();
  double const gold_dot = x * y * static_cast<double>(of.size());
  x += y + scalar * z;
  auto const error = [](Array const& t, double gold) {
    double sum = 0;
    for (std::int64_t i = 0; i < t.size(); ++i) sum += std::fabs(t.data()[i] - gold);
    return sum / static_cast<double>(t.size());
  };
  double const most = 100 * 2.220446049250313e-16;
  if (error(of.a, x) > most || error(of.b, y) > most || error(of.c, z) > most ||
      std::fabs((dot - gold_dot) / gold_dot) > 1e-8)
    throw std::runtime_error("BabelStream: a result is not that of the definition");
}

template <class Arrays, class Run>
void add_rival(bench::group& g, char const* name, double goal, std::int64_t n, Run const& kernel) {
  auto const theirs = std::make_shared<Arrays>(n);
  check(*theirs);
  g.rival(name, goal, [=] { kernel(*theirs); });
}
template <class Run>
void add(char const* what, char const* size, std::int64_t n, int threads, double arrays,
         Run const& kernel) {
  bench::add("babelstream", what, std::string(size) + (threads == 1 ? ", 1 thread" : ", 2 threads"),
             [=](bench::group& g) {
               g.threads(threads);
               config::set_intra_op_parallelism_threads(threads);
               omp_set_num_threads(threads);
               auto const own = std::make_shared<by_locus>(n);
               check(*own);
               g.bytes(arrays * 8. * static_cast<double>(n));
               g.locus([=] { kernel(*own); });
               add_rival<by_index<openmp>>(g, "loop, OpenMP", 0.97, n, kernel);
#if BENCH_THRUST
               add_rival<by_algorithm<by_thrust>>(g, "Thrust, OpenMP", 0.97, n, kernel);
#endif
               if (threads > 1) return;
#if BENCH_KOKKOS
               add_rival<by_index<kokkos>>(g, "Kokkos", 0.97, n, kernel);
#endif
               add_rival<by_algorithm<standard>>(g, "standard algorithms", 0.97, n, kernel);
             });
}

bench::file const groups([] {
  struct size {
    char const* name;
    std::int64_t n;
  };
  for (auto const& [name, n] :
       {size{"2^16", 1 << 16}, size{"2^20", 1 << 20}, size{"2^25", 1 << 25}})
    for (int threads : {1, 2}) {
      add("copy", name, n, threads, 2, [](auto& x) { x.copy(); });
      add("mul", name, n, threads, 2, [](auto& x) { x.mul(); });
      add("add", name, n, threads, 3, [](auto& x) { x.add(); });
      add("triad", name, n, threads, 3, [](auto& x) { x.triad(); });
      add("dot", name, n, threads, 2, [](auto& x) { benchmark::DoNotOptimize(x.dot()); });
      add("nstream", name, n, threads, 4, [](auto& x) { x.nstream(); });
      add("all kernels in turn", name, n, threads, 16, [](auto& x) {
        x.copy(), x.mul(), x.add(), x.triad(), x.nstream();
        benchmark::DoNotOptimize(x.dot());
      });
    }
});

}  // namespace
