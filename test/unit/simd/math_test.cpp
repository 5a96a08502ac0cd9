// SPDX-License-Identifier: Apache-2.0
// The vector functions: how far off they are, their ends, and that no lane's result depends on the
// others. bench/accuracy.cpp looks at every float.
#include "accuracy.hpp"

#include <algorithm>
#include <cfloat>
#include <doctest/doctest.h>
#include <locus/simd/math_quotient.hpp>
#include <random>

using namespace locus::simd;

namespace {

constexpr double allowed = 2.5;
constexpr bool ieee = !LOCUS_FAST_MATH;

template <class F, class T>
T one(T x) {
  return by_element<F>(x);
}
template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <class T>
void check_ends() {
  T const inf = static_cast<T>(HUGE_VAL), nan = static_cast<T>(NAN),
          tiny = one<vector_exp>(T(-1e9));
  T const most = sizeof(T) == 4 ? T(FLT_MAX) : T(DBL_MAX);
  T const least = sizeof(T) == 4 ? T(1.4e-45) : T(4.9e-324);
  CHECK(same_bits(tiny, T(0)));
  CHECK(one<vector_exp>(inf) == inf);
  CHECK(one<vector_exp>(most) == inf);
  CHECK(same_bits(one<vector_exp>(-inf), T(0)));
  CHECK(one<vector_exp>(T(-0.0)) == 1);
  CHECK(one<vector_exp2>(T(-1)) == T(0.5));
  CHECK(one<vector_expm1>(-inf) == -1);
  CHECK(one<vector_expm1>(inf) == inf);
  CHECK(same_bits(one<vector_expm1>(T(-0.0)), T(-0.0)));
  CHECK(same_bits(one<vector_expm1>(-least), -least));
  CHECK(one<vector_tanh>(inf) == 1);
  CHECK(one<vector_tanh>(-most) == -1);
  CHECK(same_bits(one<vector_tanh>(T(-0.0)), T(-0.0)));
  CHECK(same_bits(one<vector_tanh>(least), least));
  CHECK(one<vector_sigmoid>(inf) == 1);
  CHECK(same_bits(one<vector_sigmoid>(-inf), T(0)));
  CHECK(one<vector_sigmoid>(T(0)) == T(0.5));
  CHECK(one<vector_log>(T(0)) == -inf);
  CHECK(one<vector_log>(T(-0.0)) == -inf);
  CHECK(one<vector_log>(inf) == inf);
  CHECK(same_bits(one<vector_log>(T(1)), T(0)));
  CHECK(one<vector_log2>(least) == (sizeof(T) == 4 ? -149 : -1074));
  CHECK(one<vector_log10>(T(0)) == -inf);
  CHECK(one<vector_log1p>(T(-1)) == -inf);
  CHECK(one<vector_log1p>(inf) == inf);
  CHECK(one<vector_log1p>(most) == one<vector_log>(most));
  CHECK(same_bits(one<vector_log1p>(T(-0.0)), T(-0.0)));
  CHECK(same_bits(one<vector_sin>(T(-0.0)), T(-0.0)));
  CHECK(same_bits(one<vector_sin>(-least), -least));
  CHECK(one<vector_cos>(T(0)) == 1);
  CHECK(one<vector_sin>(T(1e22)) == doctest::Approx(std::sin(static_cast<double>(T(1e22)))));
  CHECK(one<vector_cos>(most) == doctest::Approx(std::cos(static_cast<double>(most))));
  for (T x : {nan, -nan}) {
#define CHECK_NAN(name, range, units) CHECK(std::isnan(one<vector_##name>(x)));
    ACCURACY_FUNCTIONS(CHECK_NAN)
#undef CHECK_NAN
  }
  for (T x : {inf, -inf}) {
    CHECK(std::isnan(one<vector_sin>(x)));
    CHECK(std::isnan(one<vector_cos>(x)));
  }
  for (T x : {T(-1.5), -inf, -least}) CHECK(std::isnan(one<vector_log>(x)));
  for (T x : {T(-1.5), -inf}) CHECK(std::isnan(one<vector_log1p>(x)));
}
/// what the C library gives for arguments at which C's Annex F, or the range, leaves no choice
template <class F, class T, class R>
void check_specials(char const* name, R right) {
  T const inf = static_cast<T>(HUGE_VAL), nan = static_cast<T>(NAN);
  T const most = sizeof(T) == 4 ? T(FLT_MAX) : T(DBL_MAX);
  T const normal = sizeof(T) == 4 ? T(FLT_MIN) : T(DBL_MIN);
  T const least = sizeof(T) == 4 ? T(1.4e-45) : T(4.9e-324);
  for (T x :
       {T(0), least, T(3 * least), T(7 * least), normal, T(0.5), T(1), T(1.5), most, inf, nan})
    for (T s : {x, -x}) {
      T const got = one<F>(s), exact = static_cast<T>(right(static_cast<accuracy::wider<T>>(s)));
      bool const fits =
          std::isnan(exact) || exact == 0 || std::isinf(exact)
              ? same_bits(got, exact)
              : accuracy::units<T>(got, right(static_cast<accuracy::wider<T>>(s))) <= 3.5;
      CHECK_MESSAGE(fits, name, " of ", s, " is ", got, ", not ", exact);
    }
}
/// every pair of numbers at which pow, atan2 or hypot have a rule of their own
template <class F, class T, class R>
void check_special_pairs(char const* name, R right) {
  T const inf = static_cast<T>(HUGE_VAL), nan = static_cast<T>(NAN);
  T const most = sizeof(T) == 4 ? T(FLT_MAX) : T(DBL_MAX);
  T const normal = sizeof(T) == 4 ? T(FLT_MIN) : T(DBL_MIN);
  T const least = sizeof(T) == 4 ? T(1.4e-45) : T(4.9e-324);
  T const odd = sizeof(T) == 4 ? T(16777215) : T(9007199254740991);  // the last odd one
  T const one_sided[] = {T(0), least, T(5 * least), normal, T(0.25),    T(0.5),  T(1), T(1.5), T(2),
                         T(3), T(4),  T(33),        odd,    T(odd + 1), T(1e30), most, inf,    nan};
  int wrong = 0;
  for (T a : one_sided)
    for (T b : one_sided)
      for (int signs = 0; signs < 4; ++signs) {
        T const x = signs & 1 ? -a : a, y = signs & 2 ? -b : b;
        T const got = by_element<F>(x, y);
        auto const exact =
            right(static_cast<accuracy::wider<T>>(x), static_cast<accuracy::wider<T>>(y));
        T const rounded = static_cast<T>(exact);
        bool const fits = std::isnan(rounded) || rounded == 0 || std::isinf(rounded)
                              ? same_bits(got, rounded)
                              : accuracy::units<T>(got, exact) <= allowed;
        if (!fits && ++wrong < 9)
          CHECK_MESSAGE(fits, name, " of ", x, ", ", y, " is ", got, ", not ", rounded);
      }
  CHECK(wrong == 0);
}

template <class T>
std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
template <class F, int N, class T, class... More>
int lanes_that_differ(T const* alone, T const* x, More const*... more) {
  T out[N];
  store(out, by_registers<F>(load<N>(x), load<N>(more)...));
  int wrong = 0;
  for (int i = 0; i < N; ++i) wrong += !same_bits(out[i], alone[i]);
  return wrong;
}
/// means: how many lanes differ from the element alone, over numbers of all sizes and small ones
template <class F, class T, int Arguments = 1>
int differences() {
  std::uint64_t state = 7;
  int wrong = 0;
  auto const number = [&](int turn) {
    using bits = typename float_traits<T>::bits;
    auto const b = static_cast<bits>(next<T>(state));
    return turn % 2 ? __builtin_bit_cast(T, b)
                    : static_cast<T>(static_cast<double>(b) / static_cast<double>(~bits(0)) * 9);
  };
  for (int turn = 0; turn < 200; ++turn) {
    T x[32], y[32], alone[32];
    for (int i = 0; i < 32; ++i) {
      x[i] = number(turn), y[i] = number(turn);
      if constexpr (Arguments == 1)
        alone[i] = by_element<F>(x[i]);
      else
        alone[i] = by_element<F>(x[i], y[i]);
    }
    auto const compare = [&](auto const*... arguments) {
      wrong += lanes_that_differ<F, 1>(alone, arguments...) +
               lanes_that_differ<F, 4>(alone, arguments...) +
               lanes_that_differ<F, 32>(alone, arguments...);
    };
    if constexpr (Arguments == 1)
      compare(x);
    else
      compare(x, y);
  }
  return wrong;
}

template <class F, class T>
int roundings_that_differ(T (*right)(T)) {
  std::uint64_t state = 5;
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    using bits = typename float_traits<T>::bits;
    auto const b = static_cast<bits>(next<T>(state));
    T const x = i % 3 == 0   ? __builtin_bit_cast(T, b)
                : i % 3 == 1 ? static_cast<T>(static_cast<std::int16_t>(b)) / 2
                             : static_cast<T>(static_cast<std::int16_t>(b)) / 7777;
    wrong += !same_bits(by_element<F>(x), right(x));
  }
  return wrong;
}

/// with each set of instructions that this processor has
template <class T>
void check_quotient(int lowest) {
  static constexpr T (*clones[])(T, T) = {LOCUS_CLONES_BY(simd, by_element, vector_quotient)};
  for (int clone = 0; clone <= chosen_clone(); ++clone) {
    CAPTURE(clone);
    auto const quotient = clones[clone];
    std::mt19937_64 bits(5);
    auto const random = [&] { return T(1) + static_cast<T>(bits() >> 12) / T(1ull << 52); };
    std::int64_t different = 0;
    for (int i = 0; i < 400000; ++i) {
      T const a = std::ldexp(random() / 2, -static_cast<int>(bits() % std::uint64_t(-lowest)));
      T const b = std::ldexp(random(), static_cast<int>(bits() % 24));
      different += quotient(a, b) != a / b;
    }
    CHECK(different == 0);
    CHECK(same_bits(quotient(T(0), T(3)), T(0)));
    CHECK(same_bits(quotient(T(NAN), T(1)), T(NAN)));
  }
}

}  // namespace

TEST_SUITE_BEGIN("simd/math");

TEST_CASE("a quotient is that of a division, down to the smallest number" * doctest::skip(!ieee)) {
  check_quotient<float>(-149);
  check_quotient<double>(-1074);
}
TEST_CASE("a few million floats are at most 2.5 units off, whatever the flags") {
#define CHECK_FLOATS(name, range, units_allowed)                                         \
  {                                                                                      \
    auto const w =                                                                       \
        accuracy::over_floats<vector_##name>(accuracy::right<double>::of_##name, 19997); \
    CHECK_MESSAGE(w.units <= units_allowed, #name, " of ", w.at);                        \
  }
  if constexpr (ieee) {
    ACCURACY_FUNCTIONS(CHECK_FLOATS)
  }
}
TEST_CASE("doubles of all sizes are at most 2.5 units off") {
#define CHECK_DOUBLES(name, range, units_allowed)                                                 \
  {                                                                                               \
    auto const w = accuracy::over_doubles<vector_##name>(accuracy::right<long double>::of_##name, \
                                                         60000, range);                           \
    CHECK_MESSAGE(w.units <= units_allowed, #name, " of ", w.at);                                 \
  }
  if constexpr (ieee) {
    ACCURACY_FUNCTIONS(CHECK_DOUBLES)
  }
}
TEST_CASE("atan2, hypot and pow of pairs of all sizes are at most 2.5 units off") {
#define CHECK_PAIRS(name, range, units_allowed)                                                   \
  {                                                                                               \
    auto const f = accuracy::over_pairs<vector_##name, float>(accuracy::right<double>::of_##name, \
                                                              200000, range);                     \
    CHECK_MESSAGE(f.units <= units_allowed, #name, " of ", f.at, ", ", f.and_at);                 \
    auto const d = accuracy::over_pairs<vector_##name, double>(                                   \
        accuracy::right<long double>::of_##name, 100000, range);                                  \
    CHECK_MESSAGE(d.units <= units_allowed, #name, " of ", d.at, ", ", d.and_at);                 \
  }
  if constexpr (ieee) {
    ACCURACY_FUNCTIONS_OF_TWO(CHECK_PAIRS)
  }
}
TEST_CASE("zeros, infinities, NaN and the ends of the range are those of Annex F") {
#define CHECK_SPECIALS(name, range, units_allowed)                                 \
  check_specials<vector_##name, float>(#name, accuracy::right<double>::of_##name); \
  check_specials<vector_##name, double>(#name, accuracy::right<long double>::of_##name);
#define CHECK_SPECIAL_PAIRS(name, range, units_allowed)                                 \
  check_special_pairs<vector_##name, float>(#name, accuracy::right<double>::of_##name); \
  check_special_pairs<vector_##name, double>(#name, accuracy::right<long double>::of_##name);
  if constexpr (ieee) {
    ACCURACY_FUNCTIONS(CHECK_SPECIALS)
    ACCURACY_FUNCTIONS_OF_TWO(CHECK_SPECIAL_PAIRS)
  }
}
TEST_CASE("zeros, infinities, denormal numbers and NaN come out as the functions have them") {
  if constexpr (ieee) check_ends<float>(), check_ends<double>();
}
TEST_CASE("sin, cos and tan near multiples of pi keep their digits") {
  float const near[] = {3.14159274f, 6.28318548f, 9.42477798f, 355.f, 710.f, 103993.f, 52174.f};
  for (float x : near) {
    CHECK(accuracy::units<float>(by_element<vector_sin>(x), std::sin(double(x))) <= allowed);
    CHECK(accuracy::units<float>(by_element<vector_cos>(x / 2), std::cos(double(x / 2))) <=
          allowed);
    CHECK(accuracy::units<float>(by_element<vector_tan>(x), std::tan(double(x))) <= allowed);
    CHECK(accuracy::units<float>(by_element<vector_tan>(x / 2), std::tan(double(x / 2))) <=
          allowed);
  }
  for (double x :
       {3.1415926535897931, 6.2831853071795862, 355., 245850922., 14885392687., 21053343141.}) {
    auto const wide = static_cast<long double>(x);
    CHECK(accuracy::units<double>(by_element<vector_sin>(x), std::sin(wide)) <= allowed);
    CHECK(accuracy::units<double>(by_element<vector_cos>(x / 2), std::cos(wide / 2)) <= allowed);
    CHECK(accuracy::units<double>(by_element<vector_tan>(x), std::tan(wide)) <= allowed);
    CHECK(accuracy::units<double>(by_element<vector_tan>(x / 2), std::tan(wide / 2)) <= allowed);
  }
}
TEST_CASE("sin and cos do not leave [-1, 1], powers of two have whole logarithms") {
  int outside = 0, wrong = 0;
  for (int k = -3000; k < 3000; ++k) {
    double const x = k * 1.5707963267948966;
    auto const narrow = static_cast<float>(x);
    outside += std::fabs(by_element<vector_sin>(x)) > 1 || std::fabs(by_element<vector_cos>(x)) > 1;
    outside += std::fabs(by_element<vector_sin>(narrow)) > 1 ||
               std::fabs(by_element<vector_cos>(narrow)) > 1;
  }
  CHECK(outside == 0);
  for (int k = -1074; k < 1024; ++k)
    wrong += by_element<vector_log2>(std::ldexp(1., k)) != k ||
             !same_bits(by_element<vector_exp2>(double(k)), std::ldexp(1., k));
  CHECK(wrong == 0);
}
TEST_CASE("a result does not depend on the lane, nor on how many there are"){
#define CHECK_LANES(name, range, units_allowed)                     \
  CHECK_MESSAGE((differences<vector_##name, float>() == 0), #name); \
  CHECK_MESSAGE((differences<vector_##name, double>() == 0), #name);
#define CHECK_LANES_OF_TWO(name, range, units_allowed)                 \
  CHECK_MESSAGE((differences<vector_##name, float, 2>() == 0), #name); \
  CHECK_MESSAGE((differences<vector_##name, double, 2>() == 0), #name);
    ACCURACY_FUNCTIONS(CHECK_LANES) ACCURACY_FUNCTIONS_OF_TWO(
        CHECK_LANES_OF_TWO)} TEST_CASE("floor, ceil, trunc and round are those of the C library to "
                                       "the bit") {
  CHECK(roundings_that_differ<vector_floor, float>(std::floor) == 0);
  CHECK(roundings_that_differ<vector_floor, double>(std::floor) == 0);
  CHECK(roundings_that_differ<vector_ceil, float>(std::ceil) == 0);
  CHECK(roundings_that_differ<vector_ceil, double>(std::ceil) == 0);
  CHECK(roundings_that_differ<vector_trunc, float>(std::trunc) == 0);
  CHECK(roundings_that_differ<vector_trunc, double>(std::trunc) == 0);
  CHECK(roundings_that_differ<vector_round, float>(std::rint) == 0);
  CHECK(roundings_that_differ<vector_round, double>(std::rint) == 0);
}
TEST_SUITE_END();
