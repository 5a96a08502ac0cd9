// SPDX-License-Identifier: Apache-2.0
// A tuple for kernels: std::tuple is not trivially copyable with libstdc++ 12, and kernels may call
// std::get only with an experimental flag.
#pragma once
#include <cstddef>  // size_t
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus {

namespace detail {
template <std::size_t Idx, class T>
struct pack_element {
  T value;
};
template <class Indices, class... Ts>
struct pack_of;
template <std::size_t... Idx, class... Ts>
struct pack_of<std::index_sequence<Idx...>, Ts...> : pack_element<Idx, Ts>... {};
}  // namespace detail

/// means: one value of each type, read by index: pack<int, float>{{1}, {2.f}}
template <class... Ts>
using pack = detail::pack_of<std::index_sequence_for<Ts...>, Ts...>;

template <std::size_t Idx, class T>
LOCUS_HOST_DEVICE constexpr T const& get(detail::pack_element<Idx, T> const& e) {
  return e.value;
}
template <std::size_t Idx, class T>
LOCUS_HOST_DEVICE constexpr T& get(detail::pack_element<Idx, T>& e) {
  return e.value;
}

template <class... Ts>
constexpr pack<Ts...> make_pack(Ts... values) {
  return {{values}...};
}

/// means: f(std::integral_constant<int, 0>{}), ..., f(... Count - 1)
template <int Count, class F>
constexpr void for_each_index(F&& f) {
  [&]<std::size_t... Idx>(std::index_sequence<Idx...>) {
    (f(std::integral_constant<int, int(Idx)>{}), ...);
  }(std::make_index_sequence<std::size_t(Count)>{});
}

}  // namespace locus
