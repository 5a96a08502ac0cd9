// SPDX-License-Identifier: Apache-2.0
// Whether two expressions of one type read the same leaves in the same way: then separate gradients
// of one loss share their common expressions.
#pragma once
#include <cstring>  // memcmp

#include <locus/core/error.hpp>   // placement_error
#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/expr/let.hpp>     // Bound
#include <locus/expr/node.hpp>    // Node

namespace locus::detail {
inline namespace LOCUS_MODE {

template <class E>
bool same_reading(E const& a, E const& b);

template <class T, class E, class Policy, class Source>
bool same_parts(Leaf<T, E, Policy, Source> const& a, Leaf<T, E, Policy, Source> const& b) {
  return a.same_as(b);
}
template <class T, class E, class Policy, bool Dense>
bool same_parts(ViewLeaf<T, E, Policy, Dense> const& a, ViewLeaf<T, E, Policy, Dense> const& b) {
  if (a.data != b.data || !(a.extents == b.extents)) return false;
  for (int i = 0; i < a.extents.rank; ++i)
    if (a.strides[i] != b.strides[i]) return false;
  return true;
}
template <class T>
bool same_parts(Scalar<T> const& a, Scalar<T> const& b) {
  return std::memcmp(&a.value, &b.value, sizeof(T)) == 0;
}
template <class E>
bool same_parts(Index<E> const& a, Index<E> const& b) {
  return a.extents == b.extents;
}
template <class Id, class E>
bool same_parts(Bound<Id, E> const& a, Bound<Id, E> const& b) {
  return a.value.get() == b.value.get() || same_reading(*a.value, *b.value);
}
template <class Op, class... Operands, std::size_t... K>
bool same_operands(Node<Op, Operands...> const& a, Node<Op, Operands...> const& b,
                   std::index_sequence<K...>) {
  return (same_reading(get<K>(a.operands), get<K>(b.operands)) && ...);
}
template <class Op, class... Operands>
bool same_parts(Node<Op, Operands...> const& a, Node<Op, Operands...> const& b) {
  if constexpr (!std::is_empty_v<Op>) {
    if constexpr (!std::is_trivially_copyable_v<Op>)
      return false;
    else if (std::memcmp(static_cast<void const*>(&a.op), &b.op, sizeof(Op)) != 0)
      return false;  // compares parameters as bytes: padding may make equal ones differ
  }
  return same_operands(a, b, std::index_sequence_for<Operands...>{});
}

/// means: both certainly have the same value; false also where that is not visible
template <class E>
bool same_reading(E const& a, E const& b) {
  return &a == &b || same_parts(a, b);
}

}  // namespace LOCUS_MODE

/// means: true     fails: placement_error, where one plan has two different losses of one type
template <class E>
bool same_gradient_value(E const& a, E const& b) {
  if (!same_reading(a, b))
    throw placement_error("locus: one plan holds gradients of two losses that have the same type; "
                          "give each a name, as in "
                          "grad(named<\"first\">(loss), w)");
  return true;
}

}  // namespace locus::detail
