// SPDX-License-Identifier: Apache-2.0
// The version of the training package: nn/, data/, strategy/ and files/.
// test/unit/training/version_test.cpp compares it with meson.build.
#pragma once
#include <locus/core/hooks.hpp>    // package_of_program
#include <locus/core/version.hpp>  // LOCUS_VERSION_TEXT

#define LOCUS_TRAINING_VERSION_MAJOR 0
#define LOCUS_TRAINING_VERSION_MINOR 2
#define LOCUS_TRAINING_VERSION_PATCH 0

namespace locus::nn {

/// means: the version of the training package, "major.minor.patch"
inline constexpr std::string_view version_text = LOCUS_VERSION_TEXT(
    LOCUS_TRAINING_VERSION_MAJOR, LOCUS_TRAINING_VERSION_MINOR, LOCUS_TRAINING_VERSION_PATCH);

namespace detail {
inline constexpr package_version this_package{"locus training", version_text};
inline bool const named = (package_of_program = &this_package, true);
}  // namespace detail

}  // namespace locus::nn
