// SPDX-License-Identifier: Apache-2.0
// Remainders, bits and shifts of integers against 128-bit arithmetic; remainders of floats against exact ones;
// signs. That vector forms give the bits of these functors: elementwise_test.cpp.
#include <cmath>
#include <doctest/doctest.h>
#include <limits>

#include <locus/locus.hpp>
#include <locus/testing/simulated_gpus.hpp>
#include <oracle.hpp>

namespace bits_test {

using namespace locus;

namespace {

__extension__ typedef __int128 wide;

/// means: a 2^b, or the floor of a / 2^b, of the lowest bits of T
template <class T>
T shifted(wide a, std::int64_t b, bool left) {
  constexpr int bits = 8 * sizeof(T);
  if (b < 0 || b >= bits) return static_cast<T>(left || a >= 0 ? 0 : -1);
  wide const by = wide(1) << b;
  return static_cast<T>(left ? a * by : a >= 0 ? a / by : -((-a + by - 1) / by));
}
wide modulo(wide a, wide b, bool floors) {
  if (b == 0) return 0;
  wide const r = a - (a / b) * b;
  return floors && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
/// bit by bit
template <class T>
T combined(T a, T b, int which) {
  T r = 0;
  for (int k = 0; k < int(8 * sizeof(T)); ++k) {
    bool const p = (a >> k & 1) != 0, q = (b >> k & 1) != 0;
    bool const bit = which == 0 ? p && q : which == 1 ? p || q : which == 2 ? p != q : !p;
    if (bit) r = static_cast<T>(static_cast<std::uint64_t>(r) | std::uint64_t(1) << k);
  }
  return r;
}

template <class T>
int wrong_functors() {
  using limits = std::numeric_limits<T>;
  oracle::random r(5);
  T const ends[] = {limits::min(), limits::max(), T(0), T(1), static_cast<T>(-1), T(7)};
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    auto any = [&](int turn) {
      return turn < 6 ? ends[turn] : static_cast<T>(r.number(-100, 100) * r.number(1, 1 << 20));
    };
    T const a = any(i % 9), b = any(i / 9 % 9);
    T const count = i % 5 == 0 ? b : static_cast<T>(r.number(-2, 70));
    wrong += fmod_fn{}(a, b) != static_cast<T>(modulo(a, b, false));
    wrong += floor_mod_fn{}(a, b) != static_cast<T>(modulo(a, b, true));
    wrong += shift_left_fn{}(a, count) != shifted<T>(a, count, true);
    wrong += shift_right_fn{}(a, count) != shifted<T>(a, count, false);
    wrong += bitwise_and_fn{}(a, b) != combined(a, b, 0);
    wrong += bitwise_or_fn{}(a, b) != combined(a, b, 1);
    wrong += bitwise_xor_fn{}(a, b) != combined(a, b, 2);
    wrong += bitwise_not_fn{}(a) != combined(a, b, 3);
  }
  return wrong;
}

/// a - b q is exact, as are the quotients of these numbers of few bits
template <class T>
int wrong_remainders() {
  oracle::random r(6);
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    auto const a = r.number(-4000, 4000), b = r.number(1, 300) * (i % 2 == 0 ? 1 : -1);
    T const x = static_cast<T>(a) / T(8), y = static_cast<T>(b) / T(8);
    T const by_trunc = static_cast<T>(modulo(a, b, false)) / T(8),
            by_floor = static_cast<T>(modulo(a, b, true)) / T(8);
    wrong += fmod_fn{}(x, y) != by_trunc || floor_mod_fn{}(x, y) != by_floor;
    wrong += std::signbit(fmod_fn{}(x, y)) != std::signbit(x) && a != 0;
    wrong += std::signbit(floor_mod_fn{}(x, y)) != std::signbit(y);
    wrong += copysign_fn{}(x, y) != (b < 0 ? -std::fabs(x) : std::fabs(x));
  }
  T const inf = std::numeric_limits<T>::infinity();
  wrong += !std::isnan(fmod_fn{}(T(1), T(0))) + !std::isnan(floor_mod_fn{}(T(1), T(0)));
  wrong += !std::isnan(fmod_fn{}(inf, T(2))) + (fmod_fn{}(T(3), -inf) != T(3));
  wrong += (floor_mod_fn{}(T(3), -inf) != -inf) + !std::signbit(copysign_fn{}(T(0), T(-0.0)));
  wrong += fmod_fn{}(std::numeric_limits<T>::max(), T(0.75)) !=
           std::fmod(std::numeric_limits<T>::max(), T(0.75));
  return wrong;
}

}  // namespace

TEST_SUITE_BEGIN("ops/bits");

TEST_CASE("remainders, bits and shifts of integers, by 0 and by counts out of range too") {
  CHECK(wrong_functors<std::int32_t>() == 0);
  CHECK(wrong_functors<std::int64_t>() == 0);
  CHECK(wrong_functors<std::uint8_t>() == 0);
  CHECK(wrong_functors<std::int8_t>() == 0);
}
TEST_CASE(
    "remainders of floats are exact, and have the sign of the operand that they are named for") {
  CHECK(wrong_remainders<float>() == 0);
  CHECK(wrong_remainders<double>() == 0);
}
TEST_CASE("operators: types widen, numbers beside tensors, booleans, assignments, pieces on GPUs") {
  testing::simulated_gpus gpus(3);
  using Cut =
      Tensor<std::int32_t, Dextents<1>, Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>>;
  for (std::int64_t n : {0, 1, 31, 257}) {
    Tensor<std::int32_t, Dextents<1>> a(n);
    Tensor<std::uint8_t, Dextents<1>> b(n);
    for (std::int64_t i = 0; i < n; ++i)
      a(i) = static_cast<std::int32_t>(i * 7919 - 1000), b(i) = static_cast<std::uint8_t>(i * 37);
    Cut there(a);
    Tensor<std::int32_t, Dextents<1>> r(n);
    Tensor<bool, Dextents<1>> odd(n);
    there ^= 5;
    there %= 1000;
    r = to<CpuDevice>((there << 2) | (there >> 30));
    odd = ((a & 1) == 1) ^ (b >= 128);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      auto const t = (a(i) ^ 5) % 1000;
      wrong += r(i) != static_cast<std::int32_t>(static_cast<unsigned>(t) << 2 |
                                                 static_cast<unsigned>(t >> 30));
      wrong += odd(i) != (((a(i) & 1) == 1) != (b(i) >= 128));
    }
    r = (a & b) + ~b % 7;  // uint8 beside int32
    for (std::int64_t i = 0; i < n; ++i)
      wrong += r(i) != (a(i) & b(i)) + static_cast<std::uint8_t>(~b(i)) % 7;
    CHECK(wrong == 0);
  }
}
TEST_SUITE_END();

}  // namespace bits_test
