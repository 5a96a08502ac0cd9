// SPDX-License-Identifier: Apache-2.0
// Relaxed plans divide and take roots by estimates: to 3 ulp, with the ends of the range as they are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>
#include <worst_of.hpp>

#include <locus/locus.hpp>

using namespace locus;

namespace {

using Floats = Tensor<float, Dextents<1>>;

/// units in the last place of `right` that x is away
double ulps(float x, double right) {
  int exponent = 0;
  std::frexp(right, &exponent);
  return std::abs(double(x) - right) / std::ldexp(1., exponent - 24);
}
/// normal numbers of all magnitudes between 2^-60 and 2^60
Floats normal_numbers(std::int64_t n, std::uint32_t seed) {
  Floats x(dextents<1>{n});
  for (std::int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x.data()[i] = std::ldexp(1.f + float(seed >> 9) * 0x1p-23f, int(seed % 121) - 60);
  }
  return x;
}
bool same_number(float a, float b) { return a == b || (a != a && b != b); }

}  // namespace

TEST_CASE("relaxed quotients and roots are within 3 ulp, and the same at every place of a row") {
  std::int64_t const n = 100003;
  Floats const a = normal_numbers(n, 1), b = normal_numbers(n, 2);
  Floats q(dextents<1>{n}), r(dextents<1>{n}), one(dextents<1>{1});
  run<relaxed<>>(into(q, a / b));
  run<relaxed<>>(into(r, sqrt(a)));
  double worst_quotient = 0, worst_root = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    worst_quotient = worst_of(worst_quotient, ulps(q(i), double(a(i)) / double(b(i))));
    worst_root = worst_of(worst_root, ulps(r(i), std::sqrt(double(a(i)))));
  }
  MESSAGE("worst quotient ", worst_quotient, " ulp, root ", worst_root, " ulp");
  CHECK(worst_quotient <= 3);
  CHECK(worst_root <= 3);
  // a tail, a short row and a stretched operand go other ways through the kernel
  for (std::int64_t first : {0, 1, 5}) {
    auto const part = fetch<relaxed<>>(slice(a, {first, first + 3}) / slice(b, {first, first + 3}));
    for (std::int64_t i = 0; i < 3; ++i) CHECK(part(i) == q(first + i));
  }
}

TEST_CASE("relaxed quotients are within 3 ulp for all normal numbers and divisors up to 2^125") {
  std::int64_t const n = 100003;
  Floats a(dextents<1>{n}), b(dextents<1>{n}), q(dextents<1>{n});
  Floats const x = normal_numbers(n, 3), y = normal_numbers(n, 4);
  for (std::int64_t i = 0; i < n; ++i) {  // exponents from -126
    int unused = 0;
    a.data()[i] = std::ldexp(std::frexp(x(i), &unused) * 2.f, int(i % 254) - 126);
    b.data()[i] = std::ldexp(std::frexp(y(i), &unused) * 2.f, int(i / 254 % 251) - 126);
  }
  run<relaxed<>>(into(q, a / b));
  double worst = 0;
  int tried = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double const right = double(a(i)) / double(b(i));
    if (right < 0x1p-126 || right > 0x1.fffffep127) continue;
    ++tried, worst = worst_of(worst, ulps(q(i), right));
  }
  MESSAGE("worst quotient of ", tried, ": ", worst, " ulp");
  CHECK(tried > n / 2);
  CHECK(worst <= 3);
}

TEST_CASE("relaxed quotients and roots know zero, infinity and NaN") {
  float const inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  float const ends[] = {0.f, -0.f, 1.f, -3.f, inf, -inf, nan};
  for (float x : ends)
    for (float y : ends) {
      CAPTURE(x);
      CAPTURE(y);
      Tensor<float, Extents<1>> const a{x}, b{y};
      float const q = fetch<relaxed<>>(a / b)(0);
      if (std::isfinite(x / y))  // of a zero the sign may differ
        CHECK(std::abs(q - x / y) <= 2e-7f * std::abs(x / y));
      else
        CHECK(same_number(q, x / y));
    }
  for (float x : ends) {
    CAPTURE(x);
    Tensor<float, Extents<1>> const a{x};
    float const r = fetch<relaxed<>>(sqrt(a))(0);
    CHECK((same_number(r, std::sqrt(x)) || std::abs(r - std::sqrt(x)) <= 2e-7f * std::sqrt(x)));
  }
}

TEST_CASE("relaxed quotients of zeros and infinities by subnormal and large numbers are exact") {
  float const inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  float const above[] = {0.f, -0.f, inf, -inf, nan};
  float const below[] = {1e-40f, -1e-45f, 1.2e-38f, 8.5e37f, -3e38f};
  std::int64_t const n = 25 * 7;  // each pair stands at several places of a register
  Floats a(dextents<1>{n}), b(dextents<1>{n}), q(dextents<1>{n});
  for (std::int64_t i = 0; i < n; ++i) a(i) = above[i % 5], b(i) = below[i / 5 % 5];
  run<relaxed<>>(into(q, a / b));
  for (std::int64_t i = 0; i < n; ++i) {
    CAPTURE(a(i));
    CAPTURE(b(i));
    CHECK(same_number(q(i), a(i) / b(i)));
    Tensor<float, Extents<1>> const x{a(i)}, y{b(i)};
    if (i < 25) CHECK(same_number(fetch<relaxed<>>(x / y)(0), q(i)));
  }
}

TEST_CASE("relaxed plans leave doubles and other operations as they are") {
  Tensor<double, Extents<3>> const a{1, 2, 3}, b{3, 7, 11};
  auto const q = fetch<relaxed<>>(a / b + sqrt(a));
  for (int i = 0; i < 3; ++i)
    CHECK(q(i) == doctest::Approx(a(i) / b(i) + std::sqrt(a(i))).epsilon(1e-15));
  CHECK(plan_of<decltype(a / b), nowhere, relaxed<>>.launches() == 1);
}
