// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits, and conversions as PTX rounds and clamps.
#pragma once
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ptx {

enum class rounding : std::uint8_t { nearest, zero, down, up };

/// in 1 + E + M bits, rounded once
template <int E, int M>
std::uint16_t narrow(double v, rounding how = rounding::nearest) {
  constexpr int bias = (1 << (E - 1)) - 1;
  constexpr std::uint32_t infinity = ((1u << E) - 1) << M;
  if (std::isnan(v)) return 0x7fff;
  std::uint32_t const sign = std::signbit(v) ? 0x8000 : 0;
  double const a = std::fabs(v);
  if (std::isinf(a)) return std::uint16_t(sign | infinity);
  if (a == 0) return std::uint16_t(sign);
  int const exponent = std::ilogb(a) > -bias ? std::ilogb(a) : 1 - bias;
  double const scaled = std::ldexp(a, M - exponent);
  double whole = std::floor(scaled);
  double const rest = scaled - whole;
  bool const away = how == rounding::nearest
                        ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)
                    : how == rounding::zero ? false
                    : how == rounding::down ? sign && rest > 0
                                            : !sign && rest > 0;
  whole += away;
  double const bits = whole + std::ldexp(double(exponent + bias - 1), M);
  if (bits >= infinity) {
    bool const stays = how == rounding::zero || how == (sign ? rounding::up : rounding::down);
    return std::uint16_t(sign | (stays ? infinity - 1 : infinity));
  }
  return std::uint16_t(sign | std::uint32_t(bits));
}

struct half {
  std::uint16_t bits = 0;
  half() = default;
  half(double v, rounding how = rounding::nearest) : bits(narrow<5, 10>(v, how)) {}
  operator float() const {
    std::uint32_t const sign = std::uint32_t(bits & 0x8000) << 16, e = bits >> 10 & 31,
                        m = bits & 1023;
    if (e == 0) return std::copysign(std::ldexp(float(m), -24), sign ? -1.f : 1.f);
    return std::bit_cast<float>(sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13);
  }
};
struct brain {
  std::uint16_t bits = 0;
  brain() = default;
  brain(double v, rounding how = rounding::nearest) : bits(narrow<8, 7>(v, how)) {}
  operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};
template <class T>
struct pair_of {
  T x, y;
};

template <class T>
inline constexpr bool is_float =
    std::is_floating_point_v<T> || std::is_same_v<T, half> || std::is_same_v<T, brain>;

/// where a rounding other than to the nearest is set
class rounding_scope {
 public:
  explicit rounding_scope(rounding how) : set_(how != rounding::nearest) {
    if (set_)
      std::fesetround(how == rounding::zero   ? FE_TOWARDZERO
                      : how == rounding::down ? FE_DOWNWARD
                                              : FE_UPWARD);
  }
  ~rounding_scope() {
    if (set_) std::fesetround(FE_TONEAREST);
  }

 private:
  bool set_;
};

template <class T>
T flushed(T v) {
  if constexpr (std::is_same_v<T, float>)
    if (std::fabs(v) < std::numeric_limits<float>::min()) return std::copysign(0.f, v);
  return v;
}
template <class T>
T saturated(T v) {
  float const f = float(v);
  return f >= 1 ? T(1.f) : f > 0 ? v : T(0.f);  // NaN: 0
}
template <class T>
T to_whole(T v, rounding how) {
  switch (how) {
  case rounding::nearest: return std::nearbyint(v);
  case rounding::zero: return std::trunc(v);
  case rounding::down: return std::floor(v);
  default: return std::ceil(v);
  }
}
/// a float as an integer: NaN is 0, what is too large becomes the largest
template <class D>
D clamped(double v) {
  if (std::isnan(v)) return 0;
  double const end = std::ldexp(1., std::numeric_limits<D>::digits);
  if (v >= end) return std::numeric_limits<D>::max();
  if (v < (std::is_signed_v<D> ? -end : 0)) return std::numeric_limits<D>::min();
  return D(v);
}

}  // namespace ptx
