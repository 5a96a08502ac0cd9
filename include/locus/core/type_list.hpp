// SPDX-License-Identifier: Apache-2.0
// Lists of types: the only place in locus that recurses over types.
#pragma once
#include <cstddef>      // size_t
#include <type_traits>  // is_same
#include <utility>      // index_sequence

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

template <class... Ts>
struct type_list {
  static constexpr int size = static_cast<int>(sizeof...(Ts));
};

namespace detail {

template <std::size_t Idx, class T>
struct indexed {
  using type = T;
};
template <class Indices, class... Ts>
struct indexed_list;
template <std::size_t... Idx, class... Ts>
struct indexed_list<std::index_sequence<Idx...>, Ts...> : indexed<Idx, Ts>... {};
template <std::size_t Idx, class T>
indexed<Idx, T> pick(indexed<Idx, T> const&);  // deduction finds the one base with this index

template <class List>
struct indexed_of;
template <class... Ts>
struct indexed_of<type_list<Ts...>> : indexed_list<std::index_sequence_for<Ts...>, Ts...> {};

template <class... Lists>
struct concatenate_lists;
template <>
struct concatenate_lists<> {
  using type = type_list<>;
};
template <class... First>
struct concatenate_lists<type_list<First...>> {
  using type = type_list<First...>;
};
template <class... First, class... Second, class... Rest>
struct concatenate_lists<type_list<First...>, type_list<Second...>, Rest...>
    : concatenate_lists<type_list<First..., Second...>, Rest...> {};

}  // namespace detail

/// means: the I-th type of the list     cost: one instantiation for each list, one for each lookup
template <int Idx, class List>
using at_t = typename decltype(detail::pick<std::size_t(Idx)>(detail::indexed_of<List>{}))::type;

template <class... Lists>
using concatenate_t = typename detail::concatenate_lists<Lists...>::type;

/// means: the first index of T in the list; the size of the list if T is not in it
template <class T, class... Ts>
consteval int index_in(type_list<Ts...>) {
  bool const hit[] = {std::is_same_v<T, Ts>..., true};
  int i = 0;
  while (!hit[i]) ++i;
  return i;
}

template <class T, class List>
inline constexpr bool contains_v = index_in<T>(List{}) < List::size;

namespace detail {

template <class List, class... New>
struct union_of {
  using type = List;
};
template <class... Ts, class First, class... Rest>
struct union_of<type_list<Ts...>, First, Rest...>
    : union_of<std::conditional_t<contains_v<First, type_list<Ts...>>, type_list<Ts...>,
                                  type_list<Ts..., First>>,
               Rest...> {};

template <class... Lists>
struct unite {
  using type = type_list<>;
};
template <class List>
struct unite<List> {
  using type = List;
};
template <class List, class... New, class... Rest>
struct unite<List, type_list<New...>, Rest...>
    : unite<typename union_of<List, New...>::type, Rest...> {};

}  // namespace detail

/// means: the types of all lists, each once, in order of first occurrence
template <class... Lists>
using union_t = typename detail::unite<Lists...>::type;

}  // namespace locus
