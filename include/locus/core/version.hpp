// SPDX-License-Identifier: Apache-2.0
// The version; test/unit/core/core_test.cpp compares it with meson.build.
#pragma once
#include <string_view>  // string_view

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 2
#define LOCUS_VERSION_PATCH 0

#define LOCUS_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define LOCUS_VERSION_TEXT(major, minor, patch) LOCUS_VERSION_TEXT_(major, minor, patch)

namespace locus {
/// means: the version of locus, "major.minor.patch"
inline constexpr std::string_view version_text =
    LOCUS_VERSION_TEXT(LOCUS_VERSION_MAJOR, LOCUS_VERSION_MINOR, LOCUS_VERSION_PATCH);
}  // namespace locus
