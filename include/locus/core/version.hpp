// SPDX-License-Identifier: Apache-2.0
// The version, held against meson.build by test/unit/core/version_test.cpp.
#pragma once

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 1
#define LOCUS_VERSION_PATCH 0
