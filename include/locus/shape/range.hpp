// SPDX-License-Identifier: Apache-2.0
// A part of one axis.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

/// means: [begin, end) of one axis; negative numbers count from the end, `to_end` is the end
struct range {
  std::int64_t begin = 0, end = to_end;
  static constexpr std::int64_t to_end = INT64_MAX;
  static constexpr std::int64_t absolute(std::int64_t i, std::int64_t n) {
    return i == to_end ? n : i < 0 ? i + n : i;
  }
  constexpr bool whole() const { return begin == 0 && end == to_end; }
  /// units: elements; negative where the range does not lie in [0, n]
  constexpr std::int64_t length(std::int64_t n) const {
    std::int64_t const b = absolute(begin, n), e = absolute(end, n);
    return b < 0 || e > n || b > e ? -1 : e - b;
  }
};
inline constexpr range all_of{};

}  // namespace locus
