// SPDX-License-Identifier: Apache-2.0
// The unit in which memory of every device is given out.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline constexpr std::int64_t allocation_unit = 256;  // bytes
constexpr std::int64_t round_up(std::int64_t bytes) {
  return (bytes + allocation_unit - 1) / allocation_unit * allocation_unit;
}

}  // namespace locus
