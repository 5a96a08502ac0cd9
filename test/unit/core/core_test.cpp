// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include <locus/core/bytes.hpp>
#include <locus/core/version.hpp>

TEST_CASE("the version of the headers is that of the build") {
  CHECK(LOCUS_VERSION_MAJOR == MESON_MAJOR);
  CHECK(LOCUS_VERSION_MINOR == MESON_MINOR);
  CHECK(LOCUS_VERSION_PATCH == MESON_PATCH);
  CHECK(std::string(locus::version_text) == std::to_string(MESON_MAJOR) + "." +
                                                std::to_string(MESON_MINOR) + "." +
                                                std::to_string(MESON_PATCH));
}

TEST_CASE("bytes are rounded up to whole units, as far as 64 bits go") {
  using locus::round_up;
  CHECK(round_up(0) == 0);
  CHECK(round_up(1) == 256);
  CHECK(round_up(256) == 256);
  CHECK(round_up(257) == 512);
  std::int64_t const most = INT64_MAX - 255;
  CHECK(round_up(most - 256) == most - 256);
  CHECK(round_up(most - 255) == most);
  CHECK(round_up(most) == most);
  CHECK(round_up(INT64_MAX) == most);
}
