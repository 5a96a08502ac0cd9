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
#include <unsupported/Eigen/SpecialFunctions>
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
#define LIBRARY_LOOPS(name) LOOPS(name##_by_library, ::name##f(a), ::name(a))
LIBRARY_LOOPS(erf)
LIBRARY_LOOPS(erfc)
LIBRARY_LOOPS(tan)
LIBRARY_LOOPS(atan)
LIBRARY_LOOPS(cbrt)
LIBRARY_LOOPS(sinh)
LIBRARY_LOOPS(cosh)
LIBRARY_LOOPS(asinh)
LOOPS(asin_by_library, ::asinf(a / 2), ::asin(a / 2))
LOOPS(acos_by_library, ::acosf(a / 2), ::acos(a / 2))
LOOPS(atanh_by_library, ::atanhf(a / 2), ::atanh(a / 2))
LOOPS(acosh_by_library, ::acoshf(1 + b), ::acosh(1 + b))
LOOPS(atan2_by_library, ::atan2f(a, b), ::atan2(a, b))
LOOPS(hypot_by_library, ::hypotf(a, b), ::hypot(a, b))
LOOPS(pow_by_library, ::powf(b, a), ::pow(b, a))
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
      : n(size), x(T(4) * uniform<T>(dextents<1>{size}, seed{1}) - T(2)),
        y(T(2) * uniform<T>(dextents<1>{size}, seed{2})), o(dextents<1>{size}),
        r(dextents<1>{size}) {}
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
// a function of the README's list: its rivals' times over that of locus are to be `goal` or more
#define ONE(function, value, goal, eigen)                                                 \
  bench::add("functions", #function ", " + type, l.name, [=](bench::group& g) {           \
    auto const d = std::make_shared<data<T>>(bytes / std::int64_t(sizeof(T)));            \
    g.bytes(2. * static_cast<double>(bytes));                                             \
    g.locus([=] {                                                                         \
      [[maybe_unused]] auto &x = d->x, &y = d->y;                                         \
      d->o = value;                                                                       \
    });                                                                                   \
    g.rival("vector math library, -Ofast", goal,                                          \
            [=] { function##_by_library(d->r.data(), d->x.data(), d->y.data(), d->n); }); \
    eigen                                                                                 \
  });
  ONE(exp, exp(x), 0, )
  ONE(log, log(y), 0, )
  ONE(sin, sin(x), 0, )
  ONE(cos, cos(x), 0, )
  ONE(tanh, tanh(x), 0, )
  ONE(log1p, log1p(y), 0, )
#if BENCH_EIGEN
  ONE(erf, erf(x), 1, g.rival("Eigen", 1, [=] {
    using array = Eigen::Array<T, Eigen::Dynamic, 1>;
    Eigen::Map<array const> const a(d->x.data(), d->n);
    Eigen::Map<array>(d->r.data(), d->n) = a.erf();
  });)
#else
  ONE(erf, erf(x), 1, )
#endif
  ONE(erfc, erfc(x), 0.8, )
  ONE(tan, tan(x), 1, )
  ONE(atan, atan(x), 0.8, )
  ONE(asin, asin(x / T(2)), 0.8, )
  ONE(acos, acos(x / T(2)), 0.8, )
  ONE(cbrt, cbrt(x), 1, )
  ONE(sinh, sinh(x), 0.8, )
  ONE(cosh, cosh(x), 0.8, )
  ONE(asinh, asinh(x), 0.8, )
  ONE(acosh, acosh(y + T(1)), 0.8, )
  ONE(atanh, atanh(x / T(2)), 0.8, )
  ONE(atan2, atan2(x, y), 1, )
  ONE(hypot, hypot(x, y), 1, )
  ONE(pow, pow(y, x), 0.8, )
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
