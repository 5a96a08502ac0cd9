// SPDX-License-Identifier: Apache-2.0
// The elements of leaves: a function of seed, leaf and element number, so that a program which
// reproduces a failure needs no file of data.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace random_expressions {

/// splitmix64's mixing function
inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
/// kind 0: small whole numbers (sums of them are exact in any order); 1: quarters; 2, 3: any
/// numbers; 4: any numbers, and now and then a NaN, an infinity, a tie
template <class T>
T datum(std::uint64_t seed, int leaf, std::int64_t i, int kind) {
  std::uint64_t const bits =
      mix(mix(seed * 64 + static_cast<std::uint64_t>(leaf)) + static_cast<std::uint64_t>(i));
  auto const number = static_cast<int>(bits >> 32 & 0xffff);
  if constexpr (std::is_same_v<T, bool>)
    return (bits & 1) != 0;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(kind < 2 ? number % 7 : number % 256);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(kind < 2 ? number % 7 - 3 : number % 2001 - 1000);
  else {
    if (kind == 0) return static_cast<T>(number % 7 - 3);
    if (kind == 1) return static_cast<T>(number % 33 - 16) / T(4);
    if (kind == 4 && number % 61 == 0) return static_cast<T>(NAN);
    if (kind == 4 && number % 61 == 1) return static_cast<T>(number % 2 ? INFINITY : -INFINITY);
    if (kind == 4 && number % 5 == 2) return T(0.75);
    return static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-53 * 4 - 2);
  }
}

/// the part of an axis of n elements that a slice takes
inline std::int64_t cut_begin(std::int64_t n) { return n / 3; }
inline std::int64_t cut_end(std::int64_t n) { return n - n / 4; }
inline std::int64_t part(std::int64_t n) { return cut_end(n) - cut_begin(n); }

}  // namespace random_expressions
