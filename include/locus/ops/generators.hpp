// SPDX-License-Identifier: Apache-2.0
// Generators: values that are a function of the element's number alone. They are placed with their
// reader, fused into its kernel, and the same on every device and for every number of threads.
#pragma once
#include <concepts>  // integral
#include <limits>    // numeric_limits

#include <locus/ops/map.hpp>     // map_op
#include <locus/ops/normal.hpp>  // inverse_normal
#include <locus/ops/philox.hpp>  // random_bits

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
/// means: a uniform number in [0, 1): 24 random bits for float, 53 for double
template <class T>
LOCUS_HOST_DEVICE constexpr T unit_uniform(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(bits >> 40) * static_cast<T>(0x1p-24);
  else
    return static_cast<T>(bits >> 11) * static_cast<T>(0x1p-53);
}
/// means: the largest number below high, where one lies in [low, high)
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
  T last;  // what rounding would make `high` is the last number before it
  LOCUS_HOST_DEVICE T operator()(std::int64_t i) const {
    computed const u = unit_uniform<computed>(random_bits(seed, i));
    T v;
    // two floats have an exact product in double: contracted or not, the sum is the same
    if constexpr (sizeof(u) == 4)
      v = static_cast<T>(double(u) * double(width) + double(low));
    else
      v = detail::fused(u, width, low);
    return v < last ? v : last;
  }
};
template <class T>
struct normal_fn {
  LOCUS_BUILTIN("normal")
  std::uint64_t seed;
  T mean, deviation;
  LOCUS_HOST_DEVICE T operator()(std::int64_t i) const {
    double const z = inverse_normal(random_bits(seed, i));
    return static_cast<T>(
        detail::fused(z, static_cast<double>(deviation), static_cast<double>(mean)));
  }
};

namespace detail {
template <class F, class E>
constexpr auto generator(F f, E extents) {
  return make_node(map_op<F>{f}, Index<E>{extents});
}
}  // namespace detail

/// means: r[i] = value     shape: the extents given     cost: nothing is stored
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
/// means: r[i] uniform in [low, high), a pure function of seed and i
/// after: Philox-4x32-10
template <class T, std::int64_t... N>
constexpr auto uniform(Extents<N...> extents, std::uint64_t seed, std::type_identity_t<T> low = 0,
                       std::type_identity_t<T> high = 1) {
  static_assert(is_floating_v<T>,
                "locus: uniform makes floats; write uniform<float>(...) and cast it");
  return detail::generator(uniform_fn<T>{seed, low, high - low, last_before(low, high)}, extents);
}
/// means: r[i] normal with that mean and standard deviation, a pure function of seed and i
/// after: Philox-4x32-10 through the inverse of the distribution function, Wichura, AS 241 (1988)
template <class T, std::int64_t... N>
constexpr auto normal(Extents<N...> extents, std::uint64_t seed, std::type_identity_t<T> mean = 0,
                      std::type_identity_t<T> deviation = 1) {
  static_assert(is_floating_v<T>,
                "locus: normal makes floats; write normal<float>(...) and cast it");
  return detail::generator(normal_fn<T>{seed, mean, deviation}, extents);
}

// What a hand writes first: a number of elements. Extents are a type here.
namespace detail {
template <class N>
constexpr void refuse_number_of_elements() {
  static_assert(always_false<N>,
                "locus: a generator takes extents; write zeros<float>(Extents<3>{}), or "
                "zeros<float>(dextents<1>{n})");
}
}  // namespace detail
template <class T, std::integral N, class... More>
constexpr void zeros(N, More...) {
  detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr void ones(N, More...) {
  detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr void full(N, More...) {
  detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr void iota(N, More...) {
  detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr void uniform(N, More...) {
  detail::refuse_number_of_elements<N>();
}
template <class T, std::integral N, class... More>
constexpr void normal(N, More...) {
  detail::refuse_number_of_elements<N>();
}

}  // namespace locus
