// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of elements: each functor against libm in long double, and expressions of
// all of them, which the host computes in packets, against the functors to the bit.
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <worst_of.hpp>

#include <locus/locus.hpp>

namespace functions_test {

using namespace locus;

namespace {

using wide = long double;

// X(name, functor of a, value of x): |a| < 8 and not 0
#define FUNCTIONS(X)                    \
  X(exp, a, std::exp(x))                \
  X(exp2, a, std::exp2(x))              \
  X(expm1, a, std::expm1(x))            \
  X(log, a, std::log(x))                \
  X(log2, a, std::log2(x))              \
  X(log10, a, std::log10(x))            \
  X(log1p, a, std::log1p(x))            \
  X(sqrt, a, std::sqrt(x))              \
  X(rsqrt, a, 1 / std::sqrt(x))         \
  X(cbrt, a, std::cbrt(x))              \
  X(reciprocal, a, 1 / x)               \
  X(sin, a, std::sin(x))                \
  X(cos, a, std::cos(x))                \
  X(tan, a, std::tan(x))                \
  X(asin, a, std::asin(x))              \
  X(acos, a, std::acos(x))              \
  X(atan, a, std::atan(x))              \
  X(sinh, a, std::sinh(x))              \
  X(cosh, a, std::cosh(x))              \
  X(tanh, a, std::tanh(x))              \
  X(asinh, a, std::asinh(x))            \
  X(acosh, a, std::acosh(x))            \
  X(atanh, a, std::atanh(x))            \
  X(erf, a, std::erf(x))                \
  X(erfc, a, std::erfc(x))              \
  X(sigmoid, a, 1 / (1 + std::exp(-x))) \
  X(floor, a, std::floor(x))            \
  X(ceil, a, std::ceil(x))              \
  X(trunc, a, std::trunc(x))            \
  X(round, a, std::rint(x))             \
  X(sign, a, x > 0 ? 1 : x < 0 ? -1 : x)

template <class T>
double ulps(T got, wide right) {
  if (right != right) return got != got ? 0 : HUGE_VAL;
  if (static_cast<T>(right) == got) return 0;
  return static_cast<double>(
      std::fabs(static_cast<wide>(got) - right) /
      std::fabs(std::nextafter(static_cast<T>(right), T(HUGE_VAL)) - static_cast<T>(right)));
}
template <class T>
void check_functors() {
#define CHECK_FUNCTION(name, argument, value)                          \
  {                                                                    \
    double worst = 0;                                                  \
    for (int i = 0; i < 4000; ++i) {                                   \
      T const a = static_cast<T>(i - 1999.7) / 250;                    \
      wide const x = static_cast<wide>(a);                             \
      worst = worst_of(worst, double(ulps<T>(name##_fn{}(a), value))); \
    }                                                                  \
    CHECK_MESSAGE(worst <= 3, #name, " is ", worst, " units off");     \
  }
  FUNCTIONS(CHECK_FUNCTION)
}
bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

}  // namespace

TEST_SUITE_BEGIN("ops/functions");

TEST_CASE("each function is that of libm, to 3 units in the last place") {
  check_functors<float>();
  check_functors<double>();
  CHECK(pow_fn{}(2.f, 10.f) == 1024.f);
  CHECK(atan2_fn{}(1.f, -1.0) == std::atan2(1., -1.));
  CHECK(hypot_fn{}(3.f, 4.f) == 5.f);
  for (double v : {double(NAN), HUGE_VAL, -HUGE_VAL, 0., -1., 1e308}) {
    CHECK(isnan_fn{}(v) == std::isnan(v));
    CHECK(isinf_fn{}(v) == std::isinf(v));
    CHECK(isfinite_fn{}(static_cast<float>(v)) == std::isfinite(static_cast<float>(v)));
  }
}

TEST_CASE("a kernel of functions gives the bits of the functors, whatever the length") {
  for (std::int64_t n : {1, 7, 64, 1003}) {
    Tensor<float, Dextents<1>> x(dextents<1>{n}), y(dextents<1>{n}), z(dextents<1>{n});
    for (std::int64_t i = 0; i < n; ++i) x(i) = static_cast<float>(i % 400 - 190) / 31.f;
    y = exp(x) + exp2(x) + expm1(x) + tanh(x) + sigmoid(x) + sin(x) + cos(x) + log1p(abs(x)) +
        floor(x) + ceil(x) + trunc(x) + round(x) + sign(x) + atan(x) + erf(x) + atan2(x, x);
    z = where(isnan(log(x)), log2(abs(x)) + rsqrt(abs(x)), log10(x) + reciprocal(x)) +
        where(isfinite(x) && !isinf(x), pow(abs(x), 0.5f) + hypot(x, x), cbrt(x));
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      float const a = x(i), b = abs_fn{}(a);
      wrong += !same_bits(y(i), exp_fn{}(a) + exp2_fn{}(a) + expm1_fn{}(a) + tanh_fn{}(a) +
                                    sigmoid_fn{}(a) + sin_fn{}(a) + cos_fn{}(a) + log1p_fn{}(b) +
                                    floor_fn{}(a) + ceil_fn{}(a) + trunc_fn{}(a) + round_fn{}(a) +
                                    sign_fn{}(a) + atan_fn{}(a) + erf_fn{}(a) + atan2_fn{}(a, a));
      float const left = a < 0 ? log2_fn{}(b) + rsqrt_fn{}(b) : log10_fn{}(a) + reciprocal_fn{}(a);
      wrong += !same_bits(z(i), left + (pow_fn{}(b, 0.5f) + hypot_fn{}(a, a)));
    }
    CHECK(wrong == 0);
  }
}
TEST_SUITE_END();

}  // namespace functions_test
