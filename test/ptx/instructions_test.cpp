// SPDX-License-Identifier: Apache-2.0
// Each instruction that lanes execute by themselves, beside the host's arithmetic: a row has PTX with $0
// for the result and $1, $2, ... for operands, and a function of C++ that says what comes out.
#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <type_traits>

#include "launch.hpp"
#include "machine/numbers.hpp"

namespace {
using namespace ptx;
using namespace ptx::testing;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;
using f16x2 = pair_of<half>;
using bf16x2 = pair_of<brain>;

// ---- operands: numbers where instructions differ, and random ones ----

std::mt19937_64& bits() {
  static std::mt19937_64 all(7);
  return all;
}
template <class T>
T from_bits(u64 b) {
  T v{};
  std::memcpy(static_cast<void*>(&v), &b, sizeof v);
  return v;
}
template <class T>
u64 bits_of_value(T v) {
  u64 b = 0;
  std::memcpy(&b, static_cast<void const*>(&v), sizeof v);
  return b;
}
template <class T>
T value(std::size_t k) {
  if constexpr (std::is_same_v<T, bool>) {
    return bits()() & 1;
  } else if constexpr (std::is_same_v<T, f16x2>) {
    return {value<half>(k), value<half>(k + 3)};
  } else if constexpr (std::is_same_v<T, bf16x2>) {
    return {value<brain>(k), value<brain>(k + 3)};
  } else if constexpr (is_float<T>) {
    double const special[] = {0,    -0.0, 1,   -1,       0.5,       1.5,     2.5,
                              -2.5, 1e-3, 3e4, 1e-40,    6e-8,      -6e-5,   6.6e4,
                              1e30, 5e9,  NAN, INFINITY, -INFINITY, 0.99999, -7.0 / 3};
    if (k % 3 == 0) return T(static_cast<T>(special[bits()() % std::size(special)]));
    if (k % 3 == 1)
      return T(static_cast<T>(std::ldexp(double(bits()() >> 11) / (1ull << 53) - 0.5,
                                         static_cast<int>(bits()() % 24) - 8)));
    return from_bits<T>(bits()());
  } else {
    using L = std::numeric_limits<T>;
    T const special[] = {0,  1,  T(-1), 2,  L::min(), L::max(), T(L::max() - 1),
                         31, 32, 33,    63, 64,       100};
    if (k % 3 == 0) return special[bits()() % std::size(special)];
    if (k % 3 == 1) return T(bits()() % 200);
    return from_bits<T>(bits()());
  }
}

// ---- a row ----

template <class T>
char register_of() {
  return std::is_same_v<T, bool> ? 'p' : sizeof(T) <= 2 ? 'h' : sizeof(T) == 4 ? 'r' : 'l';
}
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2>) {
    return same(a.x, b.x) && same(a.y, b.y);
  } else {
    if constexpr (is_float<T>)
      if (a != a && b != b) return true;  // the bits of a NaN are the device's
    return bits_of_value(a) == bits_of_value(b);
  }
}
template <class T>
std::string load_operand(int k) {  // from the k-th array to register k + 10
  std::string const n = std::to_string(k), at = "[%l" + std::to_string(40 + k) + "]";
  std::string const reg = std::string("%") + register_of<T>() + std::to_string(10 + k);
  std::string s = "mad.wide.u32 %l" + std::to_string(40 + k) + ", %r0, " +
                  std::to_string(sizeof(T)) + ", %l" + std::to_string(k + 1) + ";\n";
  if (std::is_same_v<T, bool>)
    return s + "ld.global.u8 %r" + std::to_string(40 + k) + ", " + at + ";\nsetp.ne.u32 " + reg +
           ", %r" + std::to_string(40 + k) + ", 0;\n";
  if (sizeof(T) == 1)
    return s + "ld.global." + (std::is_signed_v<T> ? "s8 " : "u8 ") + reg + ", " + at + ";\n";
  return s + "ld.global.b" + std::to_string(8 * sizeof(T)) + " " + reg + ", " + at + ";\n";
}
template <class T>
std::string store_result() {
  std::string s = "mad.wide.u32 %l40, %r0, " + std::to_string(sizeof(T)) + ", %l1;\n";
  std::string const reg = std::string("%") + register_of<T>() + "10";
  if (std::is_same_v<T, bool>)
    return s + "selp.u32 %r40, 1, 0, " + reg + ";\nst.global.u8 [%l40], %r40;\n";
  return s + "st.global.b" + std::to_string(8 * sizeof(T)) + " [%l40], " + reg + ";\n";
}
template <class R, class... A>
std::string body_of(std::string text) {
  auto const replace = [&](char digit, std::string const& reg) {
    for (std::size_t at; (at = text.find(std::string("$") + digit)) != text.npos;)
      text.replace(at, 2, reg);
  };
  int k = 0;
  auto const one = [&]<class T>(std::type_identity<T>) {
    replace(char('0' + k), std::string("%") + register_of<T>() + std::to_string(10 + k));
    ++k;
  };
  one(std::type_identity<R>());
  (one(std::type_identity<A>()), ...);
  std::string s;
  k = 1;
  ((s += load_operand<A>(k++)), ...);
  return s + text + "\n" + store_result<R>();
}

/// ulps: how far a float may lie from the host's; 0: the same bits
template <class R, class... A>
void row(std::string const& text, R (*host)(A...), double ulps = 0) {
  CAPTURE(text);
  std::size_t const threads = 96, blocks = 12, n = threads * blocks;
  std::tuple<std::vector<std::conditional_t<std::is_same_v<A, bool>, u8, A>>...> operands;
  for (std::size_t k = 0; k < n; ++k)
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(operands).push_back(value<A>(bits()())), ...);
    }(std::index_sequence_for<A...>());
  using stored = std::conditional_t<std::is_same_v<R, bool>, u8, R>;
  buffer<stored> out(n);
  std::apply(
      [&](auto const&... each) {
        std::tuple<buffer<typename std::remove_cvref_t<decltype(each)>::value_type>...> in{each...};
        std::vector<u64> addresses{out.address()};
        std::apply([&](auto const&... b) { (addresses.push_back(b.address()), ...); }, in);
        addresses.resize(4);
        ptx::testing::run(kernel(body_of<R, A...>(text)), {u32(blocks)}, {u32(threads)}, addresses);
      },
      operands);
  auto const found = out.values();
  int wrong = 0;
  for (std::size_t k = 0; k < n && wrong < 3; ++k) {
    R const expected =
        std::apply([&](auto const&... each) { return host(A(each[k])...); }, operands);
    bool right = same<R>(R(found[k]), expected);
    if constexpr (std::is_floating_point_v<R>)
      if (!right && ulps > 0) {
        double const unit =
            std::max(std::fabs(double(expected)), double(std::numeric_limits<R>::min())) *
            std::numeric_limits<R>::epsilon();
        right = std::fabs(double(found[k]) - double(expected)) <= ulps * unit;
      }
    if (right) continue;
    ++wrong;
    std::string given;
    std::apply(
        [&](auto const&... each) {
          ((given += " " + std::to_string(bits_of_value(each[k]))), ...);
        },
        operands);
    CAPTURE(given);
    CHECK(bits_of_value(found[k]) == bits_of_value(stored(expected)));
  }
  CHECK(wrong == 0);
}
template <int How, class F>
auto rounded(F f) {  // the compiler must not compute it elsewhere
  std::fesetround(How);
  auto volatile r = f();
  std::fesetround(FE_TONEAREST);
  return decltype(f())(r);
}
template <class T>
T volatile_of(T v) {
  T volatile x = v;
  return x;
}
/// NaN gives way to a number; -0 is less than 0
template <class T>
T extremum(T a, T b, bool least) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) == least ? a : b;
  return (a < b) == least ? a : b;
}
float flush(float v) {
  return std::fabs(v) < std::numeric_limits<float>::min() ? std::copysign(0.f, v) : v;
}
float clamp01(float v) { return v >= 1 ? 1.f : v > 0 ? v : 0.f; }
}  // namespace

TEST_SUITE_BEGIN("ptx/instructions");

TEST_CASE("sums and differences") {
  row("add.s16 $0, $1, $2;", +[](i16 a, i16 b) { return i16(u16(a) + u16(b)); });
  row("add.u16 $0, $1, $2;", +[](u16 a, u16 b) { return u16(a + b); });
  row("add.s32 $0, $1, $2;", +[](i32 a, i32 b) { return i32(u32(a) + u32(b)); });
  row("add.u64 $0, $1, $2;", +[](u64 a, u64 b) { return a + b; });
  row("sub.s32 $0, $1, $2;", +[](i32 a, i32 b) { return i32(u32(a) - u32(b)); });
  row("sub.s64 $0, $1, $2;", +[](i64 a, i64 b) { return i64(u64(a) - u64(b)); });
  row(
      "add.sat.s32 $0, $1, $2;", +[](i32 a, i32 b) {
        i64 const r = i64(a) + b;
        return i32(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
      });
  row(
      "sub.sat.s32 $0, $1, $2;", +[](i32 a, i32 b) {
        i64 const r = i64(a) - b;
        return i32(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
      });
  row("add.f32 $0, $1, $2;", +[](float a, float b) { return a + b; });
  row("sub.rn.f32 $0, $1, $2;", +[](float a, float b) { return a - b; });
  row("add.ftz.f32 $0, $1, $2;", +[](float a, float b) { return flush(flush(a) + flush(b)); });
  row("add.sat.f32 $0, $1, $2;", +[](float a, float b) { return clamp01(a + b); });
  row(
      "add.rz.f32 $0, $1, $2;", +[](float a, float b) {
        return rounded<FE_TOWARDZERO>([&] { return volatile_of(a) + volatile_of(b); });
      });
  row(
      "add.rm.f32 $0, $1, $2;", +[](float a, float b) {
        return rounded<FE_DOWNWARD>([&] { return volatile_of(a) + volatile_of(b); });
      });
  row(
      "add.rp.f64 $0, $1, $2;", +[](double a, double b) {
        return rounded<FE_UPWARD>([&] { return volatile_of(a) + volatile_of(b); });
      });
  row("add.f64 $0, $1, $2;", +[](double a, double b) { return a + b; });
  row("sub.f64 $0, $1, $2;", +[](double a, double b) { return a - b; });
  row(
      "add.f16 $0, $1, $2;",
      +[](half a, half b) { return half(double(float(a)) + double(float(b))); });
  row(
      "sub.bf16 $0, $1, $2;",
      +[](brain a, brain b) { return brain(double(float(a)) - double(float(b))); });
  row(
      "add.f16x2 $0, $1, $2;", +[](f16x2 a, f16x2 b) {
        return f16x2{half(double(float(a.x)) + float(b.x)), half(double(float(a.y)) + float(b.y))};
      });
  row(
      "sub.bf16x2 $0, $1, $2;", +[](bf16x2 a, bf16x2 b) {
        return bf16x2{brain(double(float(a.x)) - float(b.x)),
                      brain(double(float(a.y)) - float(b.y))};
      });
}
TEST_CASE("numbers of more words, by carries") {
  row(
      "{ .reg .b32 %a<8>; mov.b64 {%a0, %a1}, $1; mov.b64 {%a2, %a3}, $2; add.cc.u32 %a4, %a0, "
      "%a2; addc.u32 %a5, %a1, %a3;"
      " mov.b64 $0, {%a4, %a5}; }",
      +[](u64 a, u64 b) { return a + b; });
  row(
      "{ .reg .b32 %a<8>; mov.b64 {%a0, %a1}, $1; mov.b64 {%a2, %a3}, $2; sub.cc.u32 %a4, %a0, "
      "%a2; subc.cc.u32 %a5, %a1, %a3;"
      " mov.b64 $0, {%a4, %a5}; }",
      +[](u64 a, u64 b) { return a - b; });
  row(
      "{ .reg .b32 %a<8>; mad.lo.cc.u32 %a0, $1, $2, $3; madc.hi.u32 %a1, $1, $2, 0; mov.b64 $0, "
      "{%a0, %a1}; }",
      +[](u32 a, u32 b, u32 c) { return u64(a) * b + c; });
  row(
      "{ .reg .b64 %a<8>; add.cc.u64 %a0, $1, $2; addc.u64 $0, 0, 0; }",
      +[](u64 a, u64 b) { return u64(a + b < a); });
}
TEST_CASE("products") {
  row("mul.lo.s16 $0, $1, $2;", +[](i16 a, i16 b) { return i16(i32(a) * b); });
  row("mul.lo.s32 $0, $1, $2;", +[](i32 a, i32 b) { return i32(u32(a) * u32(b)); });
  row("mul.lo.u64 $0, $1, $2;", +[](u64 a, u64 b) { return a * b; });
  row("mul.hi.s32 $0, $1, $2;", +[](i32 a, i32 b) { return i32((i64(a) * b) >> 32); });
  row("mul.hi.u32 $0, $1, $2;", +[](u32 a, u32 b) { return u32((u64(a) * b) >> 32); });
  row("mul.hi.u64 $0, $1, $2;", +[](u64 a, u64 b) { return u64((u128(a) * b) >> 64); });
  row("mul.hi.s64 $0, $1, $2;", +[](i64 a, i64 b) { return i64((i128(a) * b) >> 64); });
  row("mul.wide.s16 $0, $1, $2;", +[](i16 a, i16 b) { return i32(a) * b; });
  row("mul.wide.u16 $0, $1, $2;", +[](u16 a, u16 b) { return u32(a) * b; });
  row("mul.wide.s32 $0, $1, $2;", +[](i32 a, i32 b) { return i64(a) * b; });
  row("mul.wide.u32 $0, $1, $2;", +[](u32 a, u32 b) { return u64(a) * b; });
  row(
      "mad.lo.s32 $0, $1, $2, $3;",
      +[](i32 a, i32 b, i32 c) { return i32(u32(a) * u32(b) + u32(c)); });
  row("mad.lo.u64 $0, $1, $2, $3;", +[](u64 a, u64 b, u64 c) { return a * b + c; });
  row(
      "mad.hi.s32 $0, $1, $2, $3;",
      +[](i32 a, i32 b, i32 c) { return i32(u32((i64(a) * b) >> 32) + u32(c)); });
  row(
      "mad.wide.s32 $0, $1, $2, $3;",
      +[](i32 a, i32 b, i64 c) { return i64(u64(i64(a) * b) + u64(c)); });
  row("mad.wide.u32 $0, $1, $2, $3;", +[](u32 a, u32 b, u64 c) { return u64(a) * b + c; });
  row("mad.wide.u16 $0, $1, $2, $3;", +[](u16 a, u16 b, u32 c) { return u32(a) * b + c; });
  row(
      "mul24.lo.s32 $0, $1, $2;",
      +[](i32 a, i32 b) { return i32((i64(i32(u32(a) << 8) >> 8) * (i32(u32(b) << 8) >> 8))); });
  row(
      "mul24.hi.u32 $0, $1, $2;",
      +[](u32 a, u32 b) { return u32((u64(a & 0xffffff) * (b & 0xffffff)) >> 16); });
  row(
      "mad24.lo.u32 $0, $1, $2, $3;",
      +[](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; });
  row("mul.f32 $0, $1, $2;", +[](float a, float b) { return a * b; });
  row(
      "mul.rz.f32 $0, $1, $2;", +[](float a, float b) {
        return rounded<FE_TOWARDZERO>([&] { return volatile_of(a) * volatile_of(b); });
      });
  row("mul.ftz.f32 $0, $1, $2;", +[](float a, float b) { return flush(flush(a) * flush(b)); });
  row("mul.f64 $0, $1, $2;", +[](double a, double b) { return a * b; });
  row(
      "mul.f16 $0, $1, $2;",
      +[](half a, half b) { return half(double(float(a)) * double(float(b))); });
  row(
      "mul.bf16x2 $0, $1, $2;", +[](bf16x2 a, bf16x2 b) {
        return bf16x2{brain(double(float(a.x)) * float(b.x)),
                      brain(double(float(a.y)) * float(b.y))};
      });
  row("fma.rn.f32 $0, $1, $2, $3;", +[](float a, float b, float c) { return std::fma(a, b, c); });
  row(
      "fma.rn.f64 $0, $1, $2, $3;",
      +[](double a, double b, double c) { return std::fma(a, b, c); });
  row(
      "fma.rm.f32 $0, $1, $2, $3;", +[](float a, float b, float c) {
        return rounded<FE_DOWNWARD>(
            [&] { return std::fma(volatile_of(a), volatile_of(b), volatile_of(c)); });
      });
  row(
      "fma.rn.sat.f32 $0, $1, $2, $3;",
      +[](float a, float b, float c) { return clamp01(std::fma(a, b, c)); });
  // the product and the sum of numbers of 11 bits are exact in 64, of 8 bits all the more
  row(
      "fma.rn.f16 $0, $1, $2, $3;",
      +[](half a, half b, half c) { return half(double(float(a)) * float(b) + float(c)); });
  row(
      "fma.rn.relu.bf16 $0, $1, $2, $3;", +[](brain a, brain b, brain c) {
        double const r = double(float(a)) * float(b) + float(c);
        return brain(r > 0 ? r : 0.0);
      });
}
TEST_CASE("quotients and rests") {
  row(
      "div.s32 $0, $1, $2;", +[](i32 a, i32 b) {
        return b == 0 ? -1 : b == -1 ? i32(0 - u32(a)) : a / b;
      });
  row("div.u32 $0, $1, $2;", +[](u32 a, u32 b) { return b == 0 ? ~0u : a / b; });
  row(
      "div.s64 $0, $1, $2;", +[](i64 a, i64 b) {
        return b == 0 ? -1 : b == -1 ? i64(0 - u64(a)) : a / b;
      });
  row("div.u16 $0, $1, $2;", +[](u16 a, u16 b) { return u16(b == 0 ? 0xffff : a / b); });
  row("rem.s32 $0, $1, $2;", +[](i32 a, i32 b) { return b == 0 ? a : b == -1 ? 0 : a % b; });
  row("rem.u64 $0, $1, $2;", +[](u64 a, u64 b) { return b == 0 ? a : a % b; });
  row("div.rn.f32 $0, $1, $2;", +[](float a, float b) { return a / b; });
  row("div.rn.f64 $0, $1, $2;", +[](double a, double b) { return a / b; });
  row("div.full.f32 $0, $1, $2;", +[](float a, float b) { return a / b; }, 2);
  row(
      "div.approx.ftz.f32 $0, $1, $2;",
      +[](float a, float b) { return flush(flush(a) / flush(b)); }, 2);
}
TEST_CASE("least, greatest, sign") {
  row("min.s32 $0, $1, $2;", +[](i32 a, i32 b) { return a < b ? a : b; });
  row("max.u64 $0, $1, $2;", +[](u64 a, u64 b) { return a > b ? a : b; });
  row("min.u16 $0, $1, $2;", +[](u16 a, u16 b) { return a < b ? a : b; });
  row("max.s64 $0, $1, $2;", +[](i64 a, i64 b) { return a > b ? a : b; });
  row("min.f32 $0, $1, $2;", +[](float a, float b) { return extremum(a, b, true); });
  row("max.f32 $0, $1, $2;", +[](float a, float b) { return extremum(a, b, false); });
  row(
      "max.NaN.f32 $0, $1, $2;",
      +[](float a, float b) { return a != a || b != b ? float(NAN) : extremum(a, b, false); });
  row("min.f64 $0, $1, $2;", +[](double a, double b) { return extremum(a, b, true); });
  row(
      "max.f16 $0, $1, $2;",
      +[](half a, half b) { return half(double(extremum(float(a), float(b), false))); });
  row(
      "min.NaN.bf16 $0, $1, $2;", +[](brain a, brain b) {
        float const x = a, y = b;
        return x != x || y != y ? brain(NAN) : brain(double(extremum(x, y, true)));
      });
  row("neg.s32 $0, $1;", +[](i32 a) { return i32(0 - u32(a)); });
  row("neg.s64 $0, $1;", +[](i64 a) { return i64(0 - u64(a)); });
  row("neg.f32 $0, $1;", +[](float a) { return -a; });
  row("neg.f64 $0, $1;", +[](double a) { return -a; });
  row("abs.s32 $0, $1;", +[](i32 a) { return i32(a < 0 ? 0 - u32(a) : u32(a)); });
  row("abs.f32 $0, $1;", +[](float a) { return std::fabs(a); });
  row("abs.f64 $0, $1;", +[](double a) { return std::fabs(a); });
  row("abs.f16 $0, $1;", +[](half a) { return half(std::fabs(double(float(a)))); });
  row(
      "neg.bf16x2 $0, $1;",
      +[](bf16x2 a) { return bf16x2{brain(-double(float(a.x))), brain(-double(float(a.y)))}; });
  row(
      "sad.s32 $0, $1, $2, $3;", +[](i32 a, i32 b, i32 c) {
        return i32(u32(c) + (a < b ? u32(b) - u32(a) : u32(a) - u32(b)));
      });
  row("sad.u64 $0, $1, $2, $3;", +[](u64 a, u64 b, u64 c) { return c + (a < b ? b - a : a - b); });
  row("copysign.f32 $0, $1, $2;", +[](float a, float b) { return std::copysign(b, a); });
  row("copysign.f64 $0, $1, $2;", +[](double a, double b) { return std::copysign(b, a); });
}
TEST_CASE("functions of the device") {
  row("rcp.rn.f32 $0, $1;", +[](float a) { return 1 / a; });
  row("rcp.rn.f64 $0, $1;", +[](double a) { return 1 / a; });
  row("rcp.approx.ftz.f32 $0, $1;", +[](float a) { return flush(1 / flush(a)); }, 1);
  row("sqrt.rn.f32 $0, $1;", +[](float a) { return std::sqrt(a); });
  row("sqrt.rn.f64 $0, $1;", +[](double a) { return std::sqrt(a); });
  row(
      "sqrt.rz.f32 $0, $1;",
      +[](float a) { return rounded<FE_TOWARDZERO>([&] { return std::sqrt(volatile_of(a)); }); });
  row("rsqrt.approx.f32 $0, $1;", +[](float a) { return float(1 / std::sqrt(double(a))); }, 2);
  row("rsqrt.approx.f64 $0, $1;", +[](double a) { return 1 / std::sqrt(a); }, 2);
  row("lg2.approx.f32 $0, $1;", +[](float a) { return float(std::log2(double(a))); }, 2);
  row("ex2.approx.f32 $0, $1;", +[](float a) { return float(std::exp2(double(a))); }, 2);
  row(
      "ex2.approx.ftz.f32 $0, $1;",
      +[](float a) { return flush(float(std::exp2(double(flush(a))))); }, 2);
  row("ex2.approx.f16 $0, $1;", +[](half a) { return half(double(std::exp2(float(a)))); });
  row("sin.approx.f32 $0, $1;", +[](float a) { return float(std::sin(double(a))); }, 2);
  row("cos.approx.f32 $0, $1;", +[](float a) { return float(std::cos(double(a))); }, 2);
  row("tanh.approx.f32 $0, $1;", +[](float a) { return float(std::tanh(double(a))); }, 2);
  row("tanh.approx.bf16 $0, $1;", +[](brain a) { return brain(double(std::tanh(float(a)))); });
}

TEST_CASE("logic") {
  row("and.b32 $0, $1, $2;", +[](u32 a, u32 b) { return a & b; });
  row("or.b64 $0, $1, $2;", +[](u64 a, u64 b) { return a | b; });
  row("xor.b16 $0, $1, $2;", +[](u16 a, u16 b) { return u16(a ^ b); });
  row("not.b32 $0, $1;", +[](u32 a) { return ~a; });
  row("cnot.b32 $0, $1;", +[](u32 a) { return u32(a == 0); });
  row("and.pred $0, $1, $2;", +[](bool a, bool b) { return a && b; });
  row("or.pred $0, $1, $2;", +[](bool a, bool b) { return a || b; });
  row("xor.pred $0, $1, $2;", +[](bool a, bool b) { return a != b; });
  row("not.pred $0, $1;", +[](bool a) { return !a; });
  row("lop3.b32 $0, $1, $2, $3, 0x96;", +[](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
  row(
      "lop3.b32 $0, $1, $2, $3, 0xe8;",
      +[](u32 a, u32 b, u32 c) { return (a & b) | (a & c) | (b & c); });
  row("lop3.b32 $0, $1, $2, $3, 0xca;", +[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
}
TEST_CASE("shifts and fields") {
  row("shl.b32 $0, $1, $2;", +[](u32 a, u32 n) { return n > 31 ? 0 : a << n; });
  row("shl.b64 $0, $1, $2;", +[](u64 a, u32 n) { return n > 63 ? 0 : a << n; });
  row("shl.b16 $0, $1, $2;", +[](u16 a, u32 n) { return u16(n > 15 ? 0 : a << n); });
  row("shr.u32 $0, $1, $2;", +[](u32 a, u32 n) { return n > 31 ? 0 : a >> n; });
  row("shr.s32 $0, $1, $2;", +[](i32 a, u32 n) { return a >> (n > 31 ? 31 : n); });
  row("shr.s64 $0, $1, $2;", +[](i64 a, u32 n) { return a >> (n > 63 ? 63 : n); });
  row(
      "shf.l.wrap.b32 $0, $1, $2, $3;",
      +[](u32 a, u32 b, u32 n) { return u32(((u64(b) << 32 | a) << (n & 31)) >> 32); });
  row(
      "shf.r.wrap.b32 $0, $1, $2, $3;",
      +[](u32 a, u32 b, u32 n) { return u32((u64(b) << 32 | a) >> (n & 31)); });
  row(
      "shf.r.clamp.b32 $0, $1, $2, $3;",
      +[](u32 a, u32 b, u32 n) { return u32((u64(b) << 32 | a) >> (n > 32 ? 32 : n)); });
  row(
      "shf.l.clamp.b32 $0, $1, $2, $3;", +[](u32 a, u32 b, u32 n) {
        n = n > 32 ? 32 : n;
        return n == 32 ? a : u32(((u64(b) << 32 | a) << n) >> 32);
      });
  row("popc.b32 $0, $1;", +[](u32 a) { return u32(std::popcount(a)); });
  row("popc.b64 $0, $1;", +[](u64 a) { return u32(std::popcount(a)); });
  row("clz.b32 $0, $1;", +[](u32 a) { return u32(std::countl_zero(a)); });
  row("clz.b64 $0, $1;", +[](u64 a) { return u32(std::countl_zero(a)); });
  row(
      "brev.b32 $0, $1;", +[](u32 a) {
        u32 r = 0;
        for (int k = 0; k < 32; ++k) r = r << 1 | (a >> k & 1);
        return r;
      });
  row("bfind.u32 $0, $1;", +[](u32 a) { return a == 0 ? ~0u : u32(31 - std::countl_zero(a)); });
  row(
      "bfind.s32 $0, $1;", +[](i32 a) {
        u32 const v = u32(a < 0 ? ~a : a);
        return v == 0 ? ~0u : u32(31 - std::countl_zero(v));
      });
  row("bfind.shiftamt.u64 $0, $1;", +[](u64 a) { return a == 0 ? ~0u : u32(std::countl_zero(a)); });
  // a field that leaves the number is filled with zeros, or with the sign
  row(
      "bfe.u32 $0, $1, $2, $3;", +[](u32 a, u32 first, u32 count) {
        first &= 255, count &= 255;
        u32 r = 0;
        for (u32 k = 0; k < count && k < 32; ++k)
          if (first + k < 32) r |= (a >> (first + k) & 1) << k;
        return r;
      });
  row(
      "bfe.s32 $0, $1, $2, $3;", +[](i32 a, u32 first, u32 count) {
        first &= 255, count &= 255;
        if (count == 0) return 0;
        u32 const last = std::min(first + count - 1, 31u);
        bool const sign = u32(a) >> last & 1;
        u32 r = 0;
        for (u32 k = 0; k < 32; ++k) {
          bool const inside = k < count && first + k < 32;
          r |= u32(inside ? u32(a) >> (first + k) & 1 : sign) << k;
        }
        return i32(r);
      });
  row(
      "bfe.u64 $0, $1, $2, $3;", +[](u64 a, u32 first, u32 count) {
        first &= 255, count &= 255;
        u64 r = 0;
        for (u32 k = 0; k < count && k < 64; ++k)
          if (first + k < 64) r |= (a >> (first + k) & 1) << k;
        return r;
      });
  row(
      "bfi.b32 $0, $1, $2, $3, 8;", +[](u32 a, u32 b, u32 first) {
        first &= 255;
        for (u32 k = 0; k < 8; ++k)
          if (first + k < 32) b = (b & ~(1u << (first + k))) | (a >> k & 1) << (first + k);
        return b;
      });
  row(
      "bfi.b64 $0, $1, $2, 7, $3;", +[](u64 a, u64 b, u32 count) {
        count &= 255;
        for (u32 k = 0; k < count; ++k)
          if (7 + k < 64) b = (b & ~(u64(1) << (7 + k))) | (a >> k & 1) << (7 + k);
        return b;
      });
  row(
      "bmsk.clamp.b32 $0, $1, $2;", +[](u32 first, u32 count) {
        u32 r = 0;
        for (u64 k = first; k < u64(first) + count && k < 32; ++k) r |= 1u << k;
        return r;
      });
  row(
      "bmsk.wrap.b32 $0, $1, $2;", +[](u32 first, u32 count) {
        u32 r = 0;
        for (u32 k = first & 31; k < (first & 31) + (count & 31) && k < 32; ++k) r |= 1u << k;
        return r;
      });
  row(
      "prmt.b32 $0, $1, $2, $3;", +[](u32 a, u32 b, u32 c) {
        u8 bytes[8];
        std::memcpy(bytes, &a, 4), std::memcpy(bytes + 4, &b, 4);
        u32 r = 0;
        for (int k = 0; k < 4; ++k) {
          u32 const which = c >> 4 * k & 15;
          u32 const byte = which & 8 ? (bytes[which & 7] & 0x80 ? 0xff : 0) : bytes[which & 7];
          r |= byte << 8 * k;
        }
        return r;
      });
  row(
      "dp4a.s32.u32 $0, $1, $2, $3;", +[](u32 a, u32 b, u32 c) {
        for (int k = 0; k < 4; ++k) c += u32(i32(i8(a >> 8 * k)) * i32(u8(b >> 8 * k)));
        return c;
      });
  row(
      "dp4a.u32.u32 $0, $1, $2, $3;", +[](u32 a, u32 b, u32 c) {
        for (int k = 0; k < 4; ++k) c += (a >> 8 * k & 255) * (b >> 8 * k & 255);
        return c;
      });
}

TEST_CASE("comparisons") {
  row("setp.eq.s32 $0, $1, $2;", +[](i32 a, i32 b) { return a == b; });
  row("setp.ne.b64 $0, $1, $2;", +[](u64 a, u64 b) { return a != b; });
  row("setp.lt.s16 $0, $1, $2;", +[](i16 a, i16 b) { return a < b; });
  row("setp.le.s64 $0, $1, $2;", +[](i64 a, i64 b) { return a <= b; });
  row("setp.gt.s32 $0, $1, $2;", +[](i32 a, i32 b) { return a > b; });
  row("setp.ge.u32 $0, $1, $2;", +[](u32 a, u32 b) { return a >= b; });
  row("setp.lo.u32 $0, $1, $2;", +[](u32 a, u32 b) { return a < b; });
  row("setp.ls.u64 $0, $1, $2;", +[](u64 a, u64 b) { return a <= b; });
  row("setp.hi.u16 $0, $1, $2;", +[](u16 a, u16 b) { return a > b; });
  row("setp.hs.u32 $0, $1, $2;", +[](u32 a, u32 b) { return a >= b; });
  row("setp.eq.f32 $0, $1, $2;", +[](float a, float b) { return a == b; });
  row("setp.ne.f32 $0, $1, $2;", +[](float a, float b) { return a == a && b == b && a != b; });
  row("setp.lt.f64 $0, $1, $2;", +[](double a, double b) { return a < b; });
  row("setp.neu.f32 $0, $1, $2;", +[](float a, float b) { return !(a == b); });
  row("setp.equ.f64 $0, $1, $2;", +[](double a, double b) { return !(a < b) && !(a > b); });
  row("setp.ltu.f32 $0, $1, $2;", +[](float a, float b) { return !(a >= b); });
  row("setp.leu.f32 $0, $1, $2;", +[](float a, float b) { return !(a > b); });
  row("setp.gtu.f32 $0, $1, $2;", +[](float a, float b) { return !(a <= b); });
  row("setp.geu.f32 $0, $1, $2;", +[](float a, float b) { return !(a < b); });
  row("setp.num.f32 $0, $1, $2;", +[](float a, float b) { return a == a && b == b; });
  row("setp.nan.f64 $0, $1, $2;", +[](double a, double b) { return a != a || b != b; });
  row("setp.gt.f16 $0, $1, $2;", +[](half a, half b) { return float(a) > float(b); });
  row("setp.lt.and.s32 $0, $1, $2, $3;", +[](i32 a, i32 b, bool c) { return a < b && c; });
  row("setp.lt.or.f32 $0, $1, $2, !$3;", +[](float a, float b, bool c) { return a < b || !c; });
  row("setp.lt.xor.u32 %p1|$0, $1, $2, $3;", +[](u32 a, u32 b, bool c) { return !(a < b) != c; });
  row("set.lt.u32.s32 $0, $1, $2;", +[](i32 a, i32 b) { return a < b ? ~0u : 0u; });
  row("set.ge.f32.f32 $0, $1, $2;", +[](float a, float b) { return a >= b ? 1.f : 0.f; });
  row("selp.b32 $0, $1, $2, $3;", +[](u32 a, u32 b, bool c) { return c ? a : b; });
  row("selp.f64 $0, $1, $2, !$3;", +[](u64 a, u64 b, bool c) { return !c ? a : b; });
  row("slct.u32.s32 $0, $1, $2, $3;", +[](u32 a, u32 b, i32 c) { return c >= 0 ? a : b; });
  row("slct.b64.f32 $0, $1, $2, $3;", +[](u64 a, u64 b, float c) { return c >= 0 ? a : b; });
  row("testp.finite.f32 $0, $1;", +[](float a) { return std::isfinite(a); });
  row("testp.infinite.f64 $0, $1;", +[](double a) { return std::isinf(a); });
  row("testp.number.f32 $0, $1;", +[](float a) { return a == a; });
  row("testp.notanumber.f32 $0, $1;", +[](float a) { return a != a; });
  row("testp.normal.f32 $0, $1;", +[](float a) { return std::isnormal(a); });
  row("testp.subnormal.f32 $0, $1;", +[](float a) { return std::fpclassify(a) == FP_SUBNORMAL; });
  row("@$3 mov.b32 $0, $1;\n@!$3 mov.b32 $0, $2;", +[](u32 a, u32 b, bool c) { return c ? a : b; });
}

namespace {
/// a float as an integer: NaN is 0, what is too large the largest
template <class D>
D held(double v) {
  if (v != v) return 0;
  if (v <= double(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (v >= double(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return D(v);
}
}  // namespace
TEST_CASE("conversions") {
  row("cvt.s64.s32 $0, $1;", +[](i32 a) { return i64(a); });
  row("cvt.u64.u32 $0, $1;", +[](u32 a) { return u64(a); });
  row("cvt.s32.s64 $0, $1;", +[](i64 a) { return i32(a); });
  row("cvt.u16.u32 $0, $1;", +[](u32 a) { return u16(a); });
  row("cvt.s32.s8 $0, $1;", +[](i32 a) { return i32(i8(a)); });
  row("cvt.u32.u8 $0, $1;", +[](u32 a) { return u32(u8(a)); });
  row("cvt.sat.u8.s32 $0, $1;", +[](i32 a) { return u32(a < 0 ? 0 : a > 255 ? 255 : a); });
  row(
      "cvt.sat.s32.s64 $0, $1;", +[](i64 a) {
        return i32(a < INT32_MIN ? INT32_MIN : a > INT32_MAX ? INT32_MAX : a);
      });
  row("cvt.rn.f32.s32 $0, $1;", +[](i32 a) { return float(a); });
  row("cvt.rn.f32.u64 $0, $1;", +[](u64 a) { return float(a); });
  row(
      "cvt.rz.f32.s64 $0, $1;",
      +[](i64 a) { return rounded<FE_TOWARDZERO>([&] { return float(volatile_of(a)); }); });
  row("cvt.rn.f64.s64 $0, $1;", +[](i64 a) { return double(a); });
  row("cvt.rn.f64.u32 $0, $1;", +[](u32 a) { return double(a); });
  row("cvt.rzi.s32.f32 $0, $1;", +[](float a) { return held<i32>(std::trunc(double(a))); });
  row("cvt.rni.s32.f32 $0, $1;", +[](float a) { return held<i32>(std::nearbyint(double(a))); });
  row("cvt.rmi.s64.f64 $0, $1;", +[](double a) { return held<i64>(std::floor(a)); });
  row("cvt.rpi.u32.f64 $0, $1;", +[](double a) { return held<u32>(std::ceil(a)); });
  row("cvt.rzi.u64.f32 $0, $1;", +[](float a) { return held<u64>(std::trunc(double(a))); });
  row("cvt.rni.f32.f32 $0, $1;", +[](float a) { return std::nearbyint(a); });
  row("cvt.rpi.f64.f64 $0, $1;", +[](double a) { return std::ceil(a); });
  row("cvt.f64.f32 $0, $1;", +[](float a) { return double(a); });
  row("cvt.rn.f32.f64 $0, $1;", +[](double a) { return float(a); });
  row(
      "cvt.rm.f32.f64 $0, $1;",
      +[](double a) { return rounded<FE_DOWNWARD>([&] { return float(volatile_of(a)); }); });
  row("cvt.sat.f32.f32 $0, $1;", +[](float a) { return clamp01(a); });
  row("cvt.ftz.f32.f32 $0, $1;", +[](float a) { return flush(a); });
  row("cvt.f32.f16 $0, $1;", +[](half a) { return float(a); });
  row("cvt.f32.bf16 $0, $1;", +[](brain a) { return float(a); });
  row("cvt.rn.f16.f32 $0, $1;", +[](float a) { return half(double(a)); });
  row("cvt.rz.f16.f32 $0, $1;", +[](float a) { return half(double(a), rounding::zero); });
  row("cvt.rn.bf16.f32 $0, $1;", +[](float a) { return brain(double(a)); });
  row("cvt.rn.f16.f64 $0, $1;", +[](double a) { return half(a); });
  row("cvt.rn.f16.s32 $0, $1;", +[](i32 a) { return half(double(a)); });
  row("cvt.rzi.s32.f16 $0, $1;", +[](half a) { return held<i32>(std::trunc(double(float(a)))); });
  row(
      "cvt.rn.f16x2.f32 $0, $1, $2;",
      +[](float a, float b) { return f16x2{half(double(b)), half(double(a))}; });
  row(
      "cvt.rn.relu.bf16x2.f32 $0, $1, $2;", +[](float a, float b) {
        return bf16x2{brain(b > 0 ? double(b) : 0.0), brain(a > 0 ? double(a) : 0.0)};
      });
}
#if defined(__FLT16_MAX__)  // the compiler has such numbers itself
TEST_CASE("numbers of 16 bits, all of them") {
  for (u32 k = 0; k < 65536; ++k) {
    half h;
    h.bits = u16(k);
    _Float16 const known = std::bit_cast<_Float16>(u16(k));
    REQUIRE(same<float>(float(h), float(known)));
    REQUIRE(same<float>(float(half(double(float(h)))), float(h)));
    // halfway between two, and beside it
    for (double const by : {0.5, 0.499, 0.501}) {
      if (h != h || k % 0x8000 >= 0x7bff) continue;
      half next;
      next.bits = u16(k + 1);
      double const v = double(float(h)) + by * (double(float(next)) - double(float(h)));
      REQUIRE(half(v).bits == std::bit_cast<u16>(_Float16(v)));
    }
  }
}
#endif
TEST_CASE("moves") {
  row("mov.b32 $0, $1;", +[](u32 a) { return a; });
  row("mov.f64 $0, $1;", +[](double a) { return a; });
  row("mov.pred $0, $1;", +[](bool a) { return a; });
  row("mov.b32 $0, {$1, $2};", +[](u16 a, u16 b) { return u32(b) << 16 | a; });
  row("mov.b64 $0, {$1, $2};", +[](u32 a, u32 b) { return u64(b) << 32 | a; });
  row("{ .reg .b32 %x; mov.b64 {%x, $0}, $1; }", +[](u64 a) { return u32(a >> 32); });
  row("mov.b64 {$0, _}, $1;", +[](u64 a) { return u32(a); });
  row("mov.f32 $0, 0fBF800000;", +[](u32) { return -1.f; });
  row("mov.f64 $0, 0d4000000000000000;", +[](u32) { return 2.0; });
  row("mov.f32 $0, 1.5;", +[](u32) { return 1.5f; });
  row("mov.u32 $0, -7;", +[](u32) { return u32(-7); });
  row("mov.u32 $0, WARP_SZ;", +[](u32) { return 32u; });
}
TEST_SUITE_END();
