// SPDX-License-Identifier: Apache-2.0
// The order of keys as bits, on host and GPU: -0.0 comes before 0.0, and every NaN comes last.
#pragma once
#include <cstdint>      // uint64_t
#include <type_traits>  // conditional

#include <locus/core/array.hpp>     // dynamic_array
#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/shape/element.hpp>  // is_floating_v

namespace locus::cuda_side {
inline namespace LOCUS_MODE {

template <class Key>
using key_bits = std::conditional_t<
    sizeof(Key) == 1, std::uint8_t,
    std::conditional_t<sizeof(Key) == 2, std::uint16_t,
                       std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>>>;

/// means: unsigned integers in the order of the keys; all NaNs become one number after infinity
template <class Key>
struct key_order {
  using bits = key_bits<Key>;
  static constexpr bits sign = static_cast<bits>(bits(1) << (8 * sizeof(Key) - 1));
  static constexpr int exponent = sizeof(Key) == 8            ? 52
                                  : sizeof(Key) == 4          ? 23
                                  : std::is_same_v<Key, half> ? 10
                                                              : 7;
  static constexpr bits infinity =
      static_cast<bits>(static_cast<bits>(sign - 1) >> exponent << exponent);
  static constexpr bits nan = static_cast<bits>(infinity | bits(1) << (exponent - 1));

  LOCUS_HOST_DEVICE static constexpr bits of(Key key) {
    auto const u = __builtin_bit_cast(bits, key);
    if constexpr (std::is_unsigned_v<Key>)
      return u;
    else if constexpr (!is_floating_v<Key>)
      return static_cast<bits>(u ^ sign);
    else {
      if ((u & static_cast<bits>(~sign)) > infinity) return static_cast<bits>(nan | sign);
      return static_cast<bits>(u & sign ? ~u : u | sign);
    }
  }
  LOCUS_HOST_DEVICE static constexpr Key key(bits b) {
    if constexpr (std::is_unsigned_v<Key>)
      return b;
    else if constexpr (!is_floating_v<Key>)
      return __builtin_bit_cast(Key, static_cast<bits>(b ^ sign));
    else
      return __builtin_bit_cast(Key, static_cast<bits>(b & sign ? b ^ sign : ~b));
  }
};

/// means: the indices of the keys in rising order of their low `bits` bits; equal keys keep their
///        order
/// cost:  a pass for each 8 bits
template <class Key>
dynamic_array<std::int64_t> order_of_keys(Key const* keys, std::int64_t n,
                                          int bits = 8 * int(sizeof(Key))) {
  dynamic_array<std::int64_t> from, to;
  from.resize(static_cast<std::size_t>(n)), to.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) from[static_cast<std::size_t>(i)] = i;
  for (int shift = 0; shift < bits; shift += 8) {
    unsigned const mask = bits - shift < 8 ? (1u << (bits - shift)) - 1 : 255u;
    auto const digit = [&](std::int64_t i) {
      return static_cast<unsigned>(key_order<Key>::of(keys[i]) >> shift) & mask;
    };
    std::int64_t first[257]{};
    for (std::int64_t i = 0; i < n; ++i) ++first[digit(i) + 1];
    for (int d = 0; d < 256; ++d) first[d + 1] += first[d];
    for (std::int64_t const i : from) to[static_cast<std::size_t>(first[digit(i)]++)] = i;
    auto other = static_cast<dynamic_array<std::int64_t>&&>(from);
    from = static_cast<dynamic_array<std::int64_t>&&>(to);
    to = static_cast<dynamic_array<std::int64_t>&&>(other);
  }
  return from;
}

}  // namespace LOCUS_MODE
}  // namespace locus::cuda_side
