// SPDX-License-Identifier: Apache-2.0
// BabelStream's kernels, from their published definition: copy c = a, mul b = s c, add c = a + b, triad
// a = b + s c, dot sum(a b), nstream a += b + s c, with a = 0.1, b = 0.2, c = 0, s = 0.4, over doubles, in
// this order, so that each finds in the caches what the one before left. Beside plain loops of OpenMP,
// one thread and two; the results of both are held against the values that the definition gives.
#include <cmath>
#include <memory>
#include <stdexcept>

#include <bench/harness.hpp>
#include <omp.h>

using namespace locus;

namespace {

using Array = Tensor<double, Dextents<1>>;
constexpr double scalar = 0.4, start_a = 0.1, start_b = 0.2, start_c = 0.0;

/// The arrays of one candidate, and the kernels on them.
struct by_locus {
  Array a, b, c;
  explicit by_locus(std::int64_t n)
      : a(full<double>(dextents<1>(n), start_a)), b(full<double>(dextents<1>(n), start_b)),
        c(full<double>(dextents<1>(n), start_c)) {}
  void copy() { c = a; }
  void mul() { b = scalar * c; }
  void add() { c = a + b; }
  void triad() { a = b + scalar * c; }
  void nstream() { a = a + b + scalar * c; }
  double dot() { return fetch(sum(a * b)); }
  std::int64_t size() const { return a.size(); }
};
struct by_openmp {
  Array a, b, c;  // memory alone
  explicit by_openmp(std::int64_t n)
      : a(full<double>(dextents<1>(n), start_a)), b(full<double>(dextents<1>(n), start_b)),
        c(full<double>(dextents<1>(n), start_c)) {}
  std::int64_t size() const { return a.size(); }
  void copy() {
    double *const x = a.data(), *const z = c.data();
    std::int64_t const n = size();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) z[i] = x[i];
  }
  void mul() {
    double *const y = b.data(), *const z = c.data();
    std::int64_t const n = size();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = scalar * z[i];
  }
  void add() {
    double *const x = a.data(), *const y = b.data(), *const z = c.data();
    std::int64_t const n = size();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
  }
  void triad() {
    double *const x = a.data(), *const y = b.data(), *const z = c.data();
    std::int64_t const n = size();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) x[i] = y[i] + scalar * z[i];
  }
  void nstream() {
    double *const x = a.data(), *const y = b.data(), *const z = c.data();
    std::int64_t const n = size();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) x[i] += y[i] + scalar * z[i];
  }
  double dot() {
    double const *const x = a.data(), *const y = b.data();
    std::int64_t const n = size();
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
  }
};

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

template <class Run>
void add(char const* what, char const* size, std::int64_t n, int threads, double arrays,
         Run const& kernel) {
  bench::add("babelstream", what, std::string(size) + (threads == 1 ? ", 1 thread" : ", 2 threads"),
             [=](bench::group& g) {
               g.threads(threads);
               config::set_intra_op_parallelism_threads(threads);
               omp_set_num_threads(threads);
               auto const own = std::make_shared<by_locus>(n);
               auto const theirs = std::make_shared<by_openmp>(n);
               check(*own), check(*theirs);
               g.bytes(arrays * 8. * static_cast<double>(n));
               g.locus([=] { kernel(*own); });
               g.rival("loop, OpenMP", 0.95, [=] { kernel(*theirs); });
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
