// SPDX-License-Identifier: Apache-2.0
// half and bfloat16: 16 bits in memory, float in every computation.
#pragma once
#include <cstdint>      // uint16_t
#include <limits>       // numeric_limits
#include <type_traits>  // is_arithmetic

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus {

namespace detail {
/// means: v as float, rounded to odd: if v does not fit, the last bit is set. Rounding the result
///        to a shorter type then gives the same as rounding v itself
/// after: Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Comput.
///        2008
template <class Number>
LOCUS_HOST_DEVICE constexpr float odd_float(Number v) {
  if constexpr (std::is_same_v<Number, float> || (std::is_integral_v<Number> && sizeof(v) < 4))
    return static_cast<float>(v);
  else if constexpr (std::is_integral_v<Number>) {
    auto const n = static_cast<std::uint64_t>(v);
    if constexpr (std::is_signed_v<Number>)
      if (v < 0) return -odd_float(0 - n);
    // 53 bits; the last one is set if any bit below it is set
    bool const fits = n >> 53 == 0;
    return odd_float(
        static_cast<double>(fits ? n : (n & ~0x7ffull) | ((n & 0x7ff) != 0 ? 0x800 : 0)));
  } else {
    auto const d = static_cast<double>(v);
    // a NaN by its bits: comparisons have none under -ffast-math
    if (__builtin_bit_cast(std::uint64_t, d) << 1 > 0xffeull << 52) return static_cast<float>(d);
    double const most = 0x1.fffffep127;  // a kernel may not call numeric_limits' functions
    if (d > most || d < -most) return __builtin_bit_cast(float, d < 0 ? 0xff800000u : 0x7f800000u);
    auto const f = static_cast<float>(d);
    auto const back = static_cast<double>(f);
    if (back == d) return f;
    auto const bits = __builtin_bit_cast(std::uint32_t, f);
    bool const too_large = d < 0 ? back < d : back > d;
    return __builtin_bit_cast(float, (bits - (too_large ? 1u : 0u)) | 1u);
  }
}

/// means: v rounded to nearest even; NaN keeps the first bits of its payload
LOCUS_HOST_DEVICE constexpr std::uint16_t half_bits(float v) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    std::uint16_t r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
  }
#endif
  auto const bits = __builtin_bit_cast(std::uint32_t, v);
  std::uint32_t const a = bits & 0x7fffffffu, first_normal = 113u << 23, beyond = 143u << 23;
  std::uint32_t const normal = (a + 0xfffu + (a >> 13 & 1) - (112u << 23)) >> 13;
  // adding 1/2 rounds a subnormal: the last bit of 1/2 + a is the last bit of the result
  float const shifted = __builtin_bit_cast(float, a < first_normal ? a : 0u) + 0.5f;
  std::uint32_t const subnormal = __builtin_bit_cast(std::uint32_t, shifted) - (126u << 23);
  std::uint32_t const special = a > 0x7f800000u ? (0x7e00u | (a >> 13 & 0x1ff)) : 0x7c00u;
  std::uint32_t const r = a >= beyond ? special : a < first_normal ? subnormal : normal;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | r);
}
LOCUS_HOST_DEVICE constexpr float float_of_half(std::uint16_t h) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
    return r;
  }
#endif
  std::uint32_t const a = (h & 0x7fffu) << 13, first_normal = 113u << 23;
  float const scaled = __builtin_bit_cast(float, a + first_normal);
  float const subnormal = scaled - __builtin_bit_cast(float, first_normal);
  std::uint32_t const special = (a + (224u << 23)) | (a > 0x0f800000u ? 1u << 22 : 0u);
  std::uint32_t const r = a >= 0x0f800000u  ? special
                          : a < 0x00800000u ? __builtin_bit_cast(std::uint32_t, subnormal)
                                            : a + (112u << 23);
  return __builtin_bit_cast(float, (h & 0x8000u) << 16 | r);
}
LOCUS_HOST_DEVICE constexpr std::uint16_t bfloat16_bits(float v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if (!__builtin_is_constant_evaluated()) {
    std::uint16_t r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
    return r;
  }
#endif
  auto const bits = __builtin_bit_cast(std::uint32_t, v);
  bool const nan = (bits & 0x7fffffffu) > 0x7f800000u;
  std::uint32_t const r = nan ? (bits >> 16 | 0x40u) : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>(r);
}
LOCUS_HOST_DEVICE constexpr float float_of_bfloat16(std::uint16_t b) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(b) << 16);
}
}  // namespace detail

// means: a 16-bit floating type with the bits of CUDA's type and of C's. Every number converts to
//        it, rounded to nearest even, as double converts to float; it converts to float without
//        loss, and has no arithmetic of its own: a + b is a float
#define LOCUS_NARROW_FLOAT(Narrow)                                                                 \
  struct Narrow {                                                                                  \
    std::uint16_t bits;                                                                            \
    Narrow() = default;                                                                            \
    template <class Number>                                                                        \
      requires std::is_arithmetic_v<Number>                                                        \
    LOCUS_HOST_DEVICE constexpr Narrow(Number v)                                                   \
        : bits(detail::Narrow##_bits(detail::odd_float(v))) {}                                     \
    template <class Other>                                                                         \
      requires(!std::is_same_v<Other, Narrow> && requires(Other o) { o.to_float(); })              \
    LOCUS_HOST_DEVICE explicit constexpr Narrow(Other v) : Narrow(v.to_float()) {}                 \
    LOCUS_HOST_DEVICE constexpr float to_float() const { return detail::float_of_##Narrow(bits); } \
    LOCUS_HOST_DEVICE constexpr operator float() const { return to_float(); }                      \
    static constexpr Narrow from_bits(std::uint16_t b) { return __builtin_bit_cast(Narrow, b); }   \
  };
/// IEEE 754's binary16: 11 binary digits, from 6e-8 to 65504
LOCUS_NARROW_FLOAT(half)
/// the upper 16 bits of a float: 8 binary digits, the range of float
LOCUS_NARROW_FLOAT(bfloat16)
#undef LOCUS_NARROW_FLOAT

/// 0.5_h, 1_bf16
inline namespace literals {
constexpr half operator""_h(long double v) { return half(static_cast<double>(v)); }
constexpr half operator""_h(unsigned long long v) { return half(v); }
constexpr bfloat16 operator""_bf16(long double v) { return bfloat16(static_cast<double>(v)); }
constexpr bfloat16 operator""_bf16(unsigned long long v) { return bfloat16(v); }
}  // namespace literals

namespace detail {
/// numeric_limits for both types; Digits binary digits
template <class T, int Digits, int MaxExponent>
struct narrow_limits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        is_exact = false, has_infinity = true, has_quiet_NaN = true,
                        has_signaling_NaN = true, is_iec559 = true, is_bounded = true,
                        is_modulo = false, traps = false, tinyness_before = false;
  static constexpr int digits = Digits, radix = 2, max_exponent = MaxExponent,
                       min_exponent = 3 - MaxExponent, digits10 = (Digits - 1) * 301 / 1000,
                       max_digits10 = 2 + Digits * 301 / 1000,
                       max_exponent10 = MaxExponent * 301 / 1000,
                       min_exponent10 = -((MaxExponent - 2) * 301 / 1000);
  static constexpr auto round_style = std::round_to_nearest;

  static constexpr unsigned one_exponent = 1u << (Digits - 1),  // adds one to the exponent
      infinite = (2u * MaxExponent - 1) * one_exponent;
  static constexpr T of(unsigned bits) { return T::from_bits(static_cast<std::uint16_t>(bits)); }
  static constexpr T(min)() noexcept { return of(one_exponent); }
  static constexpr T(max)() noexcept { return of(infinite - 1); }
  static constexpr T lowest() noexcept { return of(0x8000u | (infinite - 1)); }
  static constexpr T epsilon() noexcept {
    return of((unsigned(MaxExponent) - Digits) * one_exponent);
  }
  static constexpr T round_error() noexcept {
    return of((unsigned(MaxExponent) - 2) * one_exponent);
  }
  static constexpr T infinity() noexcept { return of(infinite); }
  static constexpr T quiet_NaN() noexcept { return of(infinite + one_exponent / 2); }
  static constexpr T signaling_NaN() noexcept { return of(infinite + one_exponent / 4); }
  static constexpr T denorm_min() noexcept { return of(1); }
};
}  // namespace detail

}  // namespace locus

template <>
struct std::numeric_limits<locus::half> : locus::detail::narrow_limits<locus::half, 11, 16> {};
template <>
struct std::numeric_limits<locus::bfloat16>
    : locus::detail::narrow_limits<locus::bfloat16, 8, 128> {};
