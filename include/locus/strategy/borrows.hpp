// SPDX-License-Identifier: Apache-2.0
// borrows_a_tensor<E>: E holds the address of a Tensor, which must outlive the expression.
#pragma once
#include <locus/expr/leaf.hpp>  // Leaf, borrowed

namespace locus::detail {

template <class Entry>
inline constexpr bool is_borrowed_leaf = false;
template <class T, class E, class Where, bool Checked, class V>
inline constexpr bool is_borrowed_leaf<entry<Leaf<T, E, Where, borrowed<Checked>>, V>> = true;
template <class T, class E, class Where, bool Checked, class V>
inline constexpr bool is_borrowed_leaf<entry<Leaf<T, E, Where, borrowed_constant<Checked>>, V>> =
    true;

template <class E>
consteval bool borrows() {
  auto const any_of = []<class... Entry>(type_list<Entry...>) {
    return (is_borrowed_leaf<Entry> || ... || false);
  };
  auto const any_in = []<class... Let>(type_list<Let...>) {
    return (borrows<typename Let::expression_type>() || ... || false);
  };
  return any_of(typename E::entries{}) || any_in(typename E::lets{});
}
/// means: a leaf of the expression, or of a let's value in it, is the address of a Tensor; a view,
///        or a tensor that was moved in, is no such leaf
template <class E>
inline constexpr bool borrows_a_tensor = borrows<E>();

}  // namespace locus::detail
