// SPDX-License-Identifier: Apache-2.0
// Numbers are written with a point, and read back, whatever locale the program has set.
#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>
#include <string>

#include <locus/core/write_number.hpp>
#include <locus/locus.hpp>

#include "locale_with_comma.hpp"

using namespace locus;

TEST_SUITE_BEGIN("core");
TEST_CASE("a number has a point in a program of commas, which keeps its locale") {
  locale_with_comma const here;
  REQUIRE(here.was_set);
  char text[32];
  CHECK(internal::write_number(text, sizeof text, "%.2f|%g", 1.25, 2.5e-7) == 12);
  CHECK(std::string(text) == "1.25|2.5e-07");
  CHECK(std::snprintf(text, sizeof text, "%.2f", 1.25) == 4);
  CHECK(std::string(text) == "1,25");
}
TEST_CASE("tensors are printed with points, by the fewest digits") {
  Tensor<float, Extents<2, 3>> const x{{1.5f, -0.25f, 3}, {100.125f, 1e-3f, 0.1f}};
  Tensor<double, Extents<3>> const y{1e-9, 1.5, 2e20};
  Tensor<half, Extents<2>> const z{half(0.1f), half(1.5f)};
  auto const text = [&] {
    std::ostringstream all;
    all << x << '\n' << y << '\n' << z;
    return all.str();
  };
  std::string const want = text();
  REQUIRE(want.find("1.5") != want.npos);
  locale_with_comma const here;
  REQUIRE(here.was_set);
  CHECK(text() == want);
}
TEST_CASE("a number in an error has a point") {
  locale_with_comma const here;
  REQUIRE(here.was_set);
  CHECK_THROWS_WITH_AS(static_cast<void>(uniform<double>(Extents<3>{}, seed{1}, 2.5, 0.5)),
                       "locus: uniform from 2.5 to 0.5; give two numbers, the smaller one first, "
                       "whose difference is finite",
                       configuration_error);
}
TEST_SUITE_END();
