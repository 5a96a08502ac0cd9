// SPDX-License-Identifier: Apache-2.0
// Finite numbers and NaN, told by their bits, at compile time and later.
#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>

#include <locus/core/is_finite.hpp>

using namespace locus;

namespace {
template <class T>
void check_numbers_of() {
  using limits = std::numeric_limits<T>;
  for (T const v :
       {T(0), T(-0.), T(1.5), limits::denorm_min(), (limits::max)(), limits::lowest()}) {
    CHECK(internal::is_finite(v));
    CHECK(!internal::is_nan(v));
  }
  for (T const v : {limits::infinity(), T(-limits::infinity())}) {
    CHECK(!internal::is_finite(v));
    CHECK(!internal::is_nan(v));
  }
  for (T const v : {limits::quiet_NaN(), T(-limits::quiet_NaN()), limits::signaling_NaN()}) {
    CHECK(!internal::is_finite(v));
    CHECK(internal::is_nan(v));
  }
  static_assert(internal::is_finite(T(1)) && !internal::is_finite(limits::quiet_NaN()));
  static_assert(internal::is_nan(limits::quiet_NaN()) && !internal::is_nan(limits::infinity()));
}
}  // namespace

TEST_SUITE_BEGIN("core");
TEST_CASE("finite numbers, infinities and NaN of floats and doubles") {
  check_numbers_of<float>();
  check_numbers_of<double>();
}
TEST_CASE("integers are finite, and long doubles beyond doubles") {
  CHECK(internal::is_finite(-7));
  CHECK(internal::is_finite(std::numeric_limits<long double>::max()));
  CHECK(!internal::is_finite(std::numeric_limits<long double>::infinity()));
}
TEST_SUITE_END();
