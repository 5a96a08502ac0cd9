// SPDX-License-Identifier: Apache-2.0
// The unit in which memory of every device is given out.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline constexpr std::int64_t allocation_unit = 256;  // bytes
/// means: the least number of whole units that holds `bytes`; the greatest that 64 bits hold, if none does
constexpr std::int64_t round_up(std::int64_t bytes) {
  constexpr std::int64_t most = INT64_MAX / allocation_unit * allocation_unit;
  return bytes >= most ? most : (bytes + allocation_unit - 1) / allocation_unit * allocation_unit;
}

}  // namespace locus
