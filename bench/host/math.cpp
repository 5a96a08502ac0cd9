// SPDX-License-Identifier: Apache-2.0
// Mathematical functions: exp(-x x) sin(x) + log1p(y) and each function alone, beside the vector math
// library of the system, Eigen, xtensor with xsimd, Thrust and plain loops.
// <math.h> declares the vector functions of the system under this name alone
#if defined(__x86_64__) && !defined(__FAST_MATH__)
#define __FAST_MATH__ 1
#include <math.h>
#undef __FAST_MATH__
#endif
#include <cmath>
#include <memory>
#include <type_traits>

#include <bench/harness.hpp>
#include <bench/host/loops.hpp>
#if BENCH_EIGEN
#include <Eigen/Core>
#endif
#if BENCH_XTENSOR
#define XTENSOR_USE_XSIMD
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#endif
#if BENCH_THRUST
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#endif

using namespace locus;

namespace {

template <class T>
using Vector = Tensor<T, Dextents<1>>;

// What g++ makes of a loop when it may call the vector math library.
#pragma GCC push_options
#pragma GCC optimize("Ofast")
#define LOOP(name, T, value)                                                  \
  [[gnu::noinline]] void name(T* o, T const* x, T const* y, std::int64_t n) { \
    _Pragma("omp simd") for (std::int64_t i = 0; i < n; ++i) {                \
      [[maybe_unused]] T const a = x[i], b = y[i];                            \
      o[i] = value;                                                           \
    }                                                                         \
  }
#define LOOPS(name, of_float, of_double) LOOP(name, float, of_float) LOOP(name, double, of_double)
LOOPS(all_by_library, ::expf(-a* a) * ::sinf(a) + ::log1pf(b), ::exp(-a* a) * ::sin(a) + ::log1p(b))
LOOPS(exp_by_library, ::expf(a), ::exp(a))
LOOPS(log_by_library, ::logf(b), ::log(b))
LOOPS(sin_by_library, ::sinf(a), ::sin(a))
LOOPS(cos_by_library, ::cosf(a), ::cos(a))
LOOPS(tanh_by_library, ::tanhf(a), ::tanh(a))
LOOPS(log1p_by_library, ::log1pf(b), ::log1p(b))
#pragma GCC pop_options

template <class T>
void plain(T* o, T const* x, T const* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    o[i] = std::exp(-x[i] * x[i]) * std::sin(x[i]) + std::log1p(y[i]);
}

template <class T>
struct data {
  std::int64_t n;
  Vector<T> x, y, o, r;  // x in (-2, 2), y in (0, 2)
  explicit data(std::int64_t size)
      : n(size), x(T(4) * uniform<T>(dextents<1>{size}, 1) - T(2)),
        y(T(2) * uniform<T>(dextents<1>{size}, 2)), o(dextents<1>{size}), r(dextents<1>{size}) {}
};

template <class T>
void add_all(bench::level const& l, std::int64_t bytes) {
  std::string const type = sizeof(T) == 4 ? "float" : "double";
  bool const narrow = sizeof(T) == 4;
  bench::add("functions", "exp(-x x) sin(x) + log1p(y), " + type, l.name, [=](bench::group& g) {
    auto const d = std::make_shared<data<T>>(bytes / std::int64_t(sizeof(T)));
    g.bytes(3. * static_cast<double>(bytes));
    g.locus([=] { d->o = exp(-d->x * d->x) * sin(d->x) + log1p(d->y); },
            "each function at most 2.5 ulp");
    g.rival(
        "vector math library, -Ofast", narrow ? 2 : 1.4,
        [=] { all_by_library(d->r.data(), d->x.data(), d->y.data(), d->n); }, "at most 4 ulp");
    g.rival("plain loop", narrow ? 30 : 12,
            [=] { plain(d->r.data(), d->x.data(), d->y.data(), d->n); });
#if BENCH_EIGEN
    g.rival("Eigen", narrow ? 3 : 10, [=] {
      using array = Eigen::Array<T, Eigen::Dynamic, 1>;
      Eigen::Map<array const> const x(d->x.data(), d->n), y(d->y.data(), d->n);
      Eigen::Map<array>(d->r.data(), d->n) = (-x * x).exp() * x.sin() + y.log1p();
    });
#endif
#if BENCH_XTENSOR
    g.rival("xtensor", narrow ? 2 : 1.4, [=] {
      std::array<std::size_t, 1> const shape{static_cast<std::size_t>(d->n)};
      auto const n = static_cast<std::size_t>(d->n);
      auto const x = xt::adapt(d->x.data(), n, xt::no_ownership(), shape);
      auto const y = xt::adapt(d->y.data(), n, xt::no_ownership(), shape);
      auto o = xt::adapt(d->r.data(), n, xt::no_ownership(), shape);
      xt::noalias(o) = xt::exp(-x * x) * xt::sin(x) + xt::log1p(y);
    });
#endif
#if BENCH_THRUST
    g.rival("Thrust, OpenMP", narrow ? 30 : 12, [=] {
      thrust::transform(thrust::host, d->x.data(), d->x.data() + d->n, d->y.data(), d->r.data(),
                        [](T a, T b) { return std::exp(-a * a) * std::sin(a) + std::log1p(b); });
    });
#endif
  });
#define ONE(function, operand)                                                            \
  bench::add("functions", #function ", " + type, l.name, [=](bench::group& g) {           \
    auto const d = std::make_shared<data<T>>(bytes / std::int64_t(sizeof(T)));            \
    g.bytes(2. * static_cast<double>(bytes));                                             \
    g.locus([=] { d->o = function(d->operand); });                                        \
    g.rival("vector math library, -Ofast", 0,                                             \
            [=] { function##_by_library(d->r.data(), d->x.data(), d->y.data(), d->n); }); \
  });
  ONE(exp, x)
  ONE(log, y)
  ONE(sin, x)
  ONE(cos, x)
  ONE(tanh, x)
  ONE(log1p, y)
#undef ONE
}

bench::file const groups([] {
  for (bench::level const& l : bench::levels) {
    std::int64_t const bytes = l.bytes < (64 << 20) ? l.bytes : 64 << 20;
    add_all<float>(l, bytes);
    add_all<double>(l, bytes);
  }
});

}  // namespace
