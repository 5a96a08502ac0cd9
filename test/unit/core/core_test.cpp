// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <locus/core/version.hpp>

TEST_CASE("the version of the headers is that of the build") {
  CHECK(LOCUS_VERSION_MAJOR == MESON_MAJOR);
  CHECK(LOCUS_VERSION_MINOR == MESON_MINOR);
  CHECK(LOCUS_VERSION_PATCH == MESON_PATCH);
}
