// SPDX-License-Identifier: Apache-2.0
// Generators: values that are a function of the element's index alone. A generator runs where its
// reader runs and is fused into the reader's kernel; its bits are the same on every device and for
// every number of threads. A slice or an at() of a generator is no such reader: all of the generator
// is computed and stored first.
#pragma once
#include <concepts>  // integral
#include <limits>    // numeric_limits

#include <locus/core/error.hpp>         // configuration_error
#include <locus/core/is_finite.hpp>     // is_finite
#include <locus/core/write_number.hpp>  // write_number
#include <locus/ops/box_muller.hpp>     // random_normal
#include <locus/ops/map.hpp>            // map_op
#include <locus/ops/normal.hpp>         // inverse_normal
#include <locus/ops/philox.hpp>         // random_bits, random_word

namespace locus {

template <class T>
struct full_fn {
  LOCUS_BUILTIN("full")
  T value;
  LOCUS_HOST_DEVICE constexpr T operator()(std::int64_t) const { return value; }
};
template <class T>
struct iota_fn {
  LOCUS_BUILTIN("iota")
  T first, by;
  LOCUS_HOST_DEVICE T operator()(std::int64_t i) const {
    if constexpr (is_floating_v<T>)
      return static_cast<T>(detail::fused(static_cast<double>(i), static_cast<double>(by),
                                          static_cast<double>(first)));
    else
      return add_fn{}(first, multiply_fn{}(static_cast<T>(i), by));
  }
};
/// means: the largest T below high; low if low == high
template <class T>
constexpr T last_before(T low, T high) {
  using bits_type =
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  if (!(low < high)) return low;
  if (high == T(0)) return static_cast<T>(-std::numeric_limits<T>::denorm_min());
  auto const bits = __builtin_bit_cast(bits_type, high);
  return __builtin_bit_cast(T, static_cast<bits_type>(high > T(0) ? bits - 1 : bits + 1));
}
template <class T>
struct uniform_fn {
  LOCUS_BUILTIN("uniform")
  using computed = compute_t<T>;
  std::uint64_t seed;
  computed low, width;
  T last;  // results that round up to `high` become this number
  LOCUS_HOST_DEVICE T operator()(std::int64_t i) const {
    if constexpr (sizeof(computed) == 4) {
      // 24 bits are a float, and a 2^24th of a small width may be none; fminf is one instruction of
      // a GPU, and a call on the host
      computed const v =
          detail::fused(static_cast<computed>(random_word(seed, i) >> 8) * 0x1p-24f, width, low);
      T const r = static_cast<T>(v);
      if constexpr (sizeof(T) == 4)
        return LOCUS_BY_SIDE(::fminf(r, last), r < last ? r : last);
      else
        return r < last ? r : last;
    } else {
      T const r = detail::fused(static_cast<T>(random_bits(seed, i) >> 11) * 0x1p-53, width, low);
      return r < last ? r : last;
    }
  }
};
template <class T>
struct normal_fn {
  LOCUS_BUILTIN("normal")
  std::uint64_t seed;
  T mean, deviation;
  LOCUS_HOST_DEVICE T operator()(std::int64_t i) const {
    if constexpr (sizeof(compute_t<T>) == 4)
      return static_cast<T>(detail::fused(random_normal(seed, i), float(deviation), float(mean)));
    else
      return detail::fused(inverse_normal(random_bits(seed, i)), deviation, mean);
  }
};

/// means: names a stream of random numbers: a seed and an element's index give the number.
/// A seed is a type, and stands in front of the range, because NumPy's and TensorFlow's
/// uniform(low, high) would otherwise compile here and give another distribution.
struct seed {
  std::uint64_t value;
  constexpr explicit seed(std::integral auto number) : value(static_cast<std::uint64_t>(number)) {}
};

namespace internal {

/// means: a number as text; iostreams or <charconv> would cost every unit a tenth of a second to
///        compile
struct short_number {
  char text[32];
  explicit short_number(double x) { write_number(text, sizeof text, "%.9g", x); }
};

}  // namespace internal

namespace detail {
template <class S>
concept seed_number = std::integral<S> && !std::same_as<S, bool>;
template <class T>
constexpr bool is_finite_from_0(T x) {
  return internal::is_finite(x) && x >= 0;
}
[[noreturn]] inline void refuse_numbers(char const* first, double x, char const* second, double y,
                                        char const* remedy) {
  message text;
  throw configuration_error(text << "locus: " << first << short_number(x).text << second
                                 << short_number(y).text << "; " << remedy);
}
[[noreturn]] inline void refuse_range(double low, double high) {
  refuse_numbers("uniform from ", low, " to ", high,
                 "give two numbers, the smaller one first, whose difference is finite");
}
[[noreturn]] inline void refuse_moments(double mean, double deviation) {
  refuse_numbers("normal with mean ", mean, " and deviation ", deviation,
                 "give two finite numbers, the deviation at least 0");
}
template <class F, class E>
constexpr auto generator(F f, E extents) {
  return make_node(map_op<F>{f}, Index<E>{extents});
}
}  // namespace detail

/// means: r[i] = value     shape: the extents given     cost: no memory
template <class T, std::int64_t... N>
constexpr auto full(Extents<N...> extents, std::type_identity_t<T> value) {
  return detail::generator(full_fn<T>{value}, extents);
}
/// means: r[i] = 0
template <class T, std::int64_t... N>
constexpr auto zeros(Extents<N...> extents) {
  return full<T>(extents, T(0));
}
/// means: r[i] = 1
template <class T, std::int64_t... N>
constexpr auto ones(Extents<N...> extents) {
  return full<T>(extents, T(1));
}
/// means: r[i] = first + i * by, i in row order
template <class T, std::int64_t... N>
constexpr auto iota(Extents<N...> extents, std::type_identity_t<T> first = 0,
                    std::type_identity_t<T> by = 1) {
  return detail::generator(iota_fn<T>{first, by}, extents);
}
/// means: r[i] uniform in [low, high), a pure function of seed and i; low where the two are equal.
///        Doubles are one of 2^53 equidistant values, all other types one of 2^24
/// fails: configuration_error where low > high, or high - low is not finite
/// after: Philox-4x32-10
template <class T, std::int64_t... N>
constexpr auto uniform(Extents<N...> extents, seed from, std::type_identity_t<T> low = 0,
                       std::type_identity_t<T> high = 1) {
  static_assert(is_floating_v<T>,
                "locus: uniform makes floats; write uniform<float>(...) and cast it");
  using computed = compute_t<T>;
  computed const width = computed(high) - computed(low);
  if (!detail::is_finite_from_0(width)) detail::refuse_range(double(low), double(high));
  return detail::generator(uniform_fn<T>{from.value, low, width, last_before(low, high)}, extents);
}
/// means: uniform<T>(extents, seed{number}): an integer without a range can only be a seed
template <class T, std::int64_t... N, detail::seed_number S>
constexpr auto uniform(Extents<N...> extents, S number) {
  return uniform<T>(extents, seed{number});
}
/// means: r[i] normal with that mean and standard deviation, a pure function of seed and i
/// fails: configuration_error where the deviation is below 0, or one of the two is not finite
/// after: Philox-4x32-10; doubles by the inverse of the distribution function, Wichura, AS 241
///        (1988); all other types, up to 6.8 deviations, by Box and Muller (1958)
template <class T, std::int64_t... N>
constexpr auto normal(Extents<N...> extents, seed from, std::type_identity_t<T> mean = 0,
                      std::type_identity_t<T> deviation = 1) {
  static_assert(is_floating_v<T>,
                "locus: normal makes floats; write normal<float>(...) and cast it");
  using computed = compute_t<T>;
  if (!detail::is_finite_from_0(computed(deviation)) ||
      !detail::is_finite_from_0(computed(mean) < 0 ? -computed(mean) : computed(mean)))
    detail::refuse_moments(double(mean), double(deviation));
  return detail::generator(normal_fn<T>{from.value, mean, deviation}, extents);
}
/// means: normal<T>(extents, seed{number})
template <class T, std::int64_t... N, detail::seed_number S>
constexpr auto normal(Extents<N...> extents, S number) {
  return normal<T>(extents, seed{number});
}

// refuse likely first attempts: a number of elements in place of extents, fractions of integers
namespace detail {
template <class T, class... Given>
concept fractions_of_integers = std::integral<T> && (is_floating_v<Given> || ...);
template <class T>
consteval bool refuse_fractions() {
  static_assert(always_false<T>, "locus: a generator of integers is given a fraction; write "
                                 "full<float>(...), or an integer");
  return false;
}
template <class N>
consteval bool refuse_number_of_elements() {
  static_assert(always_false<N>,
                "locus: a generator takes extents; write zeros<float>(Extents<3>{}), or "
                "zeros<float>(dextents<1>{n})");
  return false;
}
template <class...>
inline constexpr bool begin_with_seed = false;
template <class... More>
inline constexpr bool begin_with_seed<seed, More...> = true;
template <seed_number S>
inline constexpr bool begin_with_seed<S> = true;
template <class... Given>
consteval bool refuse_no_seed() {
  static_assert(always_false<Given...>, "locus: random numbers begin with a seed; write "
                                        "uniform<float>(extents, seed{1}, low, high) or "
                                        "normal<float>(extents, seed{1}, mean, deviation)");
  return false;
}
}  // namespace detail
template <class T, std::int64_t... N, class... Given>
  requires(!detail::begin_with_seed<Given...>)
constexpr auto uniform(Extents<N...>, Given...) {
  return detail::refuse_no_seed<T, Given...>();
}
template <class T, std::int64_t... N, class... Given>
  requires(!detail::begin_with_seed<Given...>)
constexpr auto normal(Extents<N...>, Given...) {
  return detail::refuse_no_seed<T, Given...>();
}
template <class T, std::int64_t... N, class... Given>
  requires detail::fractions_of_integers<T, Given...>
constexpr auto full(Extents<N...>, Given...) {
  return detail::refuse_fractions<T>();
}
template <class T, std::int64_t... N, class... Given>
  requires detail::fractions_of_integers<T, Given...>
constexpr auto iota(Extents<N...>, Given...) {
  return detail::refuse_fractions<T>();
}
template <class T, std::integral N, class... More>
constexpr auto zeros(N, More...) {
  return detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr auto ones(N, More...) {
  return detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr auto full(N, More...) {
  return detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr auto iota(N, More...) {
  return detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr auto uniform(N, More...) {
  return detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr auto normal(N, More...) {
  return detail::refuse_number_of_elements<N>();
}

}  // namespace locus
