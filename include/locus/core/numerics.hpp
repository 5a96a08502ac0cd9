// SPDX-License-Identifier: Apache-2.0
// Which bits a plan promises; plan/numerics.hpp shows how a program chooses.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

enum class numerics : unsigned char { exact, relaxed, reproducible };

}  // namespace locus
