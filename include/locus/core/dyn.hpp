// SPDX-License-Identifier: Apache-2.0
// dyn: stands for an extent or an ordinal that is known only at run time.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline constexpr std::int64_t dyn = -1;

}  // namespace locus
