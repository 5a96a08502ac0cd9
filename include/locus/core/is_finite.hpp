// SPDX-License-Identifier: Apache-2.0
// Finite numbers and NaN, told by their bits: under -ffast-math `v - v == 0` and `v == v` are always true, and
// the linker may give that function to units with other flags.
#pragma once
#include <cstdint>      // uint32_t, uint64_t
#include <type_traits>  // conditional_t, is_arithmetic_v, is_floating_point_v

#include <locus/core/compiler.hpp>  // C++20

namespace locus::internal {

/// The bits of a float or double.
template <class T>
struct bits_of_number {
  using type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr type infinity = sizeof(T) == 4 ? type(0x7f800000) : type(0x7ff0000000000000);
  /// means: the bits of |v|. clang would know by the type that they are those of a finite number
  static constexpr type of_magnitude(T const& v) {
    auto bits = __builtin_bit_cast(type, v);
    if (!__builtin_is_constant_evaluated()) asm("" : "+r"(bits));
    return bits & static_cast<type>(~type(0) >> 1);
  }
};

/// means: neither NaN nor infinite, whatever the flags of the unit; an integer always is. The caller
///        widens a 16-bit float
template <class T>
  requires std::is_arithmetic_v<T>
constexpr bool is_finite(T const& v) {
  if constexpr (!std::is_floating_point_v<T>)
    return true;
  else if constexpr (sizeof(T) > 8)  // long double: the flags decide
    return v - v == 0;
  else
    return bits_of_number<T>::of_magnitude(v) < bits_of_number<T>::infinity;
}

/// means: NaN, whatever the flags of the unit
template <class T>
  requires(std::is_floating_point_v<T> && sizeof(T) <= 8)
constexpr bool is_nan(T const& v) {
  return bits_of_number<T>::of_magnitude(v) > bits_of_number<T>::infinity;
}

}  // namespace locus::internal
