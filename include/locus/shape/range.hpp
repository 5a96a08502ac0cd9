// SPDX-License-Identifier: Apache-2.0
// A part of one axis.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

namespace internal {
/// how far the elements of a range lie apart; explicit, so that {0, 5, 2} is no range: its type says
/// that it has no gaps
struct range_step {
  std::int64_t value = 1;
  constexpr range_step() = default;
  constexpr explicit range_step(std::int64_t n) : value(n) {}
};
}  // namespace internal

/// means: [begin, end) of one axis; negative numbers count from the end, `to_end` is the end
struct range {
  std::int64_t begin = 0, end = to_end;
  internal::range_step step{};
  static constexpr std::int64_t to_end = INT64_MAX;
  static constexpr std::int64_t absolute(std::int64_t i, std::int64_t n) {
    return i == to_end ? n : i < 0 ? i + n : i;
  }
  /// means: the one element at that index; -1 is the last one
  static constexpr range element(std::int64_t i) {
    return {i, i == -1 || i == to_end ? to_end : i + 1};
  }
  constexpr bool whole() const { return begin == 0 && end == to_end && step.value == 1; }
  /// units: elements; negative where the range does not lie in [0, n], or the step is below 1
  constexpr std::int64_t length(std::int64_t n) const {
    std::int64_t const b = absolute(begin, n), e = absolute(end, n);
    return b < 0 || e > n || b > e || step.value < 1
               ? -1
               : (e - b) / step.value + ((e - b) % step.value != 0);
  }
  /// means: from one element of a part of n elements to the next; one element keeps the stride of its axis
  constexpr std::int64_t stride(std::int64_t of_axis, std::int64_t n) const {
    return n > 1 ? of_axis * step.value : of_axis;
  }
};
inline constexpr range all_of{};

/// means: begin, begin + step, ... below end: slice(x, strided{0, range::to_end, 2})
struct strided {
  std::int64_t begin = 0, end = range::to_end, step = 1;
  constexpr range elements() const { return {begin, end, internal::range_step(step)}; }
};

}  // namespace locus
