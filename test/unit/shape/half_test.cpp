// SPDX-License-Identifier: Apache-2.0
// half and bfloat16: every one of them to float and back, and floats and doubles rounded to them,
// against arithmetic of integers; and the same in vectors.
#include <cmath>
#include <cstring>
#include <sstream>

#include <doctest/doctest.h>

#include <locus/shape/element.hpp>
#include <locus/simd/packet.hpp>

// registers that the compiler may not use are returned here by functions that are all inlined
#pragma GCC diagnostic ignored "-Wpsabi"
#include <oracle.hpp>

using namespace locus;

namespace {

static_assert(sizeof(half) == 2 && alignof(half) == 2 && std::is_trivially_copyable_v<half>);
static_assert(std::is_trivially_default_constructible_v<bfloat16> && sizeof(bfloat16) == 2);
static_assert(std::is_standard_layout_v<half>);

// ---- constants ----
static_assert(half(1).bits == 0x3c00 && half(-2.5f).bits == 0xc100 && half(0.1).bits == 0x2e66);
static_assert(half(65504).bits == 0x7bff && half(65519).bits == 0x7bff &&
              half(65520).bits == 0x7c00);
static_assert(half(0x1p-24).bits == 1 && half(0x1p-25).bits == 0 && half(0x1.8p-25).bits == 1);
static_assert(half(1e300).bits == 0x7c00 && half(-1e300).bits == 0xfc00 && half(1e-300).bits == 0);
static_assert(half(std::int64_t(1) << 40).bits == 0x7c00 && half(true).bits == 0x3c00);
static_assert(bfloat16(1).bits == 0x3f80 && bfloat16(3.14159f).bits == 0x4049);
static_assert(float(half(0.1)) == 0.0999755859375f && float(bfloat16(-3)) == -3);
// a second rounding, by way of float, would give the neighbour
static_assert(half(1 + 0x1p-11 + 0x1p-50).bits == 0x3c01 &&
              half(float(1 + 0x1p-11 + 0x1p-50)).bits == 0x3c00);
static_assert(half(1 + 0x1.8p-10 - 0x1p-50).bits == 0x3c01);
static_assert(bfloat16((std::int64_t(257) << 32) + 1).bits == 0x5381 &&
              bfloat16(std::int64_t(257) << 32).bits == 0x5380);
static_assert(bfloat16(-(std::int64_t(257) << 50) - 1).bits == 0xdc81);
static_assert(bfloat16(~std::uint64_t(0)).bits == 0x5f80);
static_assert(half(bfloat16(0.5f)).bits == 0x3800 && bfloat16(half(0.5f)).bits == 0x3f00);
static_assert((0.5_h).bits == 0x3800 && (3_h).bits == 0x4200 && (1_bf16).bits == 0x3f80 &&
              (2.5_bf16).bits == 0x4020);
// what C++ does with float does it with half, by way of float
static_assert(half(1) + half(2) == 3.f && half(1) < half(2) && -half(1) == -1 &&
              half(3) / 2 == 1.5);
static_assert(std::is_same_v<decltype(half(1) * half(1)), float>);

using half_limits = std::numeric_limits<half>;
static_assert(half_limits::max() == 65504.f && half_limits::lowest() == -65504.f);
static_assert(half_limits::min() == 0x1p-14f && half_limits::denorm_min() == 0x1p-24f);
static_assert(half_limits::epsilon() == 0x1p-10f && half_limits::round_error() == 0.5f);
static_assert(half_limits::infinity().bits == 0x7c00 && half_limits::quiet_NaN().bits == 0x7e00);
static_assert(half_limits::digits == 11 && half_limits::digits10 == 3 &&
              half_limits::max_digits10 == 5);
static_assert(half_limits::min_exponent == -13 && half_limits::max_exponent == 16);
static_assert(half_limits::min_exponent10 == -4 && half_limits::max_exponent10 == 4);
using bfloat16_limits = std::numeric_limits<bfloat16>;
static_assert(bfloat16_limits::max() == 0x1.fep127f && bfloat16_limits::min() == 0x1p-126f);
static_assert(bfloat16_limits::denorm_min() == 0x1p-133f && bfloat16_limits::epsilon() == 0x1p-7f);
static_assert(bfloat16_limits::infinity().bits == 0x7f80 && bfloat16_limits::round_error() == 0.5f);
static_assert(bfloat16_limits::digits == 8 && bfloat16_limits::digits10 == 2 &&
              bfloat16_limits::max_digits10 == 4);
static_assert(bfloat16_limits::min_exponent == -125 && bfloat16_limits::max_exponent == 128);
static_assert(bfloat16_limits::min_exponent10 == -37 && bfloat16_limits::max_exponent10 == 38);

// ---- the reference ----
template <class T>
struct format;
template <>
struct format<half> {
  static constexpr int fraction = 10, bias = 15, top = 31;
};
template <>
struct format<bfloat16> {
  static constexpr int fraction = 7, bias = 127, top = 255;
};

/// the value of finite bits
template <class T>
double value_of(unsigned bits) {
  using F = format<T>;
  int const exponent = int(bits >> F::fraction) & F::top;
  int const fraction = int(bits & ((1u << F::fraction) - 1));
  double const size =
      exponent == 0 ? std::ldexp(fraction, 1 - F::bias - F::fraction)
                    : std::ldexp(fraction + (1 << F::fraction), exponent - F::bias - F::fraction);
  return bits >> 15 ? -size : size;
}
/// the nearest of all finite values, found by halving the range; of two the one with an even last
/// bit; beyond the largest by half its unit: infinity
template <class T>
unsigned nearest(long double v) {
  using F = format<T>;
  unsigned const sign = std::signbit(v) ? 0x8000u : 0u, infinite = unsigned(F::top) << F::fraction;
  long double const size = std::fabs(v);
  unsigned low = 0, high = infinite;  // value(low) <= size < value(high)
  while (high - low > 1) {
    unsigned const middle = (low + high) / 2;
    (value_of<T>(middle) <= size ? low : high) = middle;
  }
  // above the largest one the next would lie where it lies if the exponents went on
  double const below = value_of<T>(low);
  double const next = high < infinite ? value_of<T>(high) : 2 * below - value_of<T>(low - 1);
  long double const down = size - below, up = next - size;
  if (size >= next) return sign | infinite;
  return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

template <class T>
void check_all() {
  using F = format<T>;
  unsigned const infinite = unsigned(F::top) << F::fraction;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    auto const x = T::from_bits(static_cast<std::uint16_t>(bits));
    float const f = x;
    unsigned const size = bits & 0x7fff;
    if (size > infinite) {
      REQUIRE(f != f);
      REQUIRE(T(f) != T(f));
    } else if (size == infinite) {
      REQUIRE(std::isinf(f));
    } else
      REQUIRE(double(f) == value_of<T>(bits));
    REQUIRE(std::signbit(f) == (bits >> 15 != 0));
    if (size <= infinite) {
      REQUIRE(T(f).bits == bits);
      REQUIRE(T(double(f)).bits == bits);
    }
  }
}
/// points of interest: random ones of all sizes, and those near values and midpoints
template <class T>
double point(oracle::random& r) {
  std::uint64_t const kind = r.bits() % 4;
  auto const bits = static_cast<unsigned>(r.bits() & 0xffff);
  double const at = value_of<T>(bits % (unsigned(format<T>::top) << format<T>::fraction)),
               next = value_of<T>((bits + 1) % (unsigned(format<T>::top) << format<T>::fraction));
  double const sign = bits >> 15 ? -1. : 1.;
  if (kind == 0) return sign * at;
  if (kind == 1) return sign * (at + next) / 2;
  if (kind == 2)
    return sign * (at + next) / 2 * (1 + std::ldexp(r.real(-1, 1), -int(r.number(20, 52))));
  return sign * std::ldexp(r.real(1, 2), int(r.number(-150, 130)));
}
/// NaNs whose payload lies where the short type has no bits
float odd_nan(int i) {
  constexpr std::uint32_t bits[] = {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0xff800001u};
  return __builtin_bit_cast(float, bits[i % 4]);
}

template <class T>
void check_rounding() {
  oracle::random r(7);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(T(odd_nan(i)) != T(odd_nan(i)));
    REQUIRE(std::signbit(float(T(odd_nan(i)))) == (i >= 2));
  }
  for (int i = 0; i < 100000; ++i) {
    double const v = point<T>(r);
    REQUIRE(T(v).bits == nearest<T>(v));
    float const f = static_cast<float>(v);
    if (std::isinf(f)) continue;
    REQUIRE(T(f).bits == nearest<T>(f));
  }
  for (int i = 0; i < 20000; ++i) {
    auto const n = static_cast<std::int64_t>(r.bits()) >> r.number(0, 62);
    REQUIRE(T(n).bits == nearest<T>(static_cast<long double>(n)));  // which holds 64 bits
    auto const u = static_cast<std::uint64_t>(r.bits()) >> r.number(0, 63);
    REQUIRE(T(u).bits == nearest<T>(static_cast<long double>(u)));
  }
}

/// N at once give what one by one gives
template <class T, int N>
void check_packets() {
  oracle::random r(3);
  auto same = [](T a, T b) { return a.bits == b.bits || (a != a && b != b); };
  for (unsigned first = 0; first < 0x10000; first += N) {
    T in[N], back[N];
    float out[N];
    for (unsigned j = 0; j < N; ++j) in[j] = T::from_bits(static_cast<std::uint16_t>(first + j));
    auto const wide = simd::convert<float>(simd::load<N>(in));
    simd::store(out, wide);
    simd::store(back, simd::convert<T>(wide));
    for (int j = 0; j < N; ++j) {
      float const want = in[j];
      REQUIRE((out[j] != out[j]) == (want != want));
      if (want == want) REQUIRE(std::memcmp(&out[j], &want, 4) == 0);
      REQUIRE(same(back[j], in[j]));
    }
  }
  for (int i = 0; i < 20000; ++i) {
    float in[N];
    T out[N];
    for (float& v : in) v = static_cast<float>(point<T>(r));
    if (i % 7 == 0) in[i % N] = odd_nan(i);
    simd::store(out, simd::convert<T>(simd::load<N>(in)));
    for (int j = 0; j < N; ++j) REQUIRE(same(out[j], T(in[j])));
  }
}
}  // namespace

TEST_CASE_TEMPLATE("each value of 16 bits is a float, and comes back from it", T, half, bfloat16) {
  check_all<T>();
}
TEST_CASE_TEMPLATE("floats, doubles and integers are rounded once, to nearest even", T, half,
                   bfloat16) {
  check_rounding<T>();
}
TEST_CASE_TEMPLATE("vectors convert as single numbers do", T, half, bfloat16) {
  check_packets<T, 2>();
  check_packets<T, 4>();
  check_packets<T, 8>();
  check_packets<T, 16>();
}
TEST_CASE("a half is printed as a float") {
  std::ostringstream out;
  out << half(0.5f) << " " << bfloat16(-3);
  CHECK(out.str() == "0.5 -3");
}
