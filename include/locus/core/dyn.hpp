// SPDX-License-Identifier: Apache-2.0
// dyn: what is known when the program runs, in the place of an extent or of an ordinal.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline constexpr std::int64_t dyn = -1;

}  // namespace locus
