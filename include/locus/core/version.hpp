// SPDX-License-Identifier: Apache-2.0
// The version; test/unit/core/core_test.cpp compares it with meson.build.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 2
#define LOCUS_VERSION_PATCH 0
