// SPDX-License-Identifier: Apache-2.0
// The unit of all allocations on devices.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

inline constexpr std::int64_t allocation_unit = 256;  // bytes
/// means: the smallest multiple of the unit that is at least `bytes`; if 64 bits hold none, the
///        largest multiple
constexpr std::int64_t round_up(std::int64_t bytes) {
  constexpr std::int64_t most = INT64_MAX / allocation_unit * allocation_unit;
  return bytes >= most ? most : (bytes + allocation_unit - 1) / allocation_unit * allocation_unit;
}

}  // namespace locus
