// SPDX-License-Identifier: Apache-2.0
// Whether two expressions of one type certainly have the same value: they read the same leaves by
// the same operations. Then one plan computes the value once, under one name.
#pragma once
#include <type_traits>  // is_empty_v
#include <utility>      // index_sequence

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/expr/leaf.hpp>    // Leaf, ViewLeaf, Scalar, Index
#include <locus/expr/node.hpp>    // Node

namespace locus {

template <class Id, class E>
struct Bound;

namespace internal {
inline namespace LOCUS_MODE {
template <class E>
bool same_reading(E const& a, E const& b);
}
}  // namespace internal

namespace detail {
inline namespace LOCUS_MODE {

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
  return __builtin_memcmp(&a.value, &b.value, sizeof(T)) == 0;
}
template <class E>
bool same_parts(Index<E> const& a, Index<E> const& b) {
  return a.extents == b.extents;
}
template <class Id, class E>
bool same_parts(Bound<Id, E> const& a, Bound<Id, E> const& b) {
  return a.value.get() == b.value.get() || internal::same_reading(*a.value, *b.value);
}
template <class Op, class... Operands, std::size_t... K>
bool same_operands(Node<Op, Operands...> const& a, Node<Op, Operands...> const& b,
                   std::index_sequence<K...>) {
  return (internal::same_reading(get<K>(a.operands), get<K>(b.operands)) && ...);
}
template <class Op, class... Operands>
bool same_parts(Node<Op, Operands...> const& a, Node<Op, Operands...> const& b) {
  if constexpr (!std::is_empty_v<Op>) {
    if constexpr (!std::is_trivially_copyable_v<Op>)
      return false;
    else if (__builtin_memcmp(static_cast<void const*>(&a.op), &b.op, sizeof(Op)) != 0)
      return false;  // compares parameters as bytes: padding may make equal ones differ
  }
  return same_operands(a, b, std::index_sequence_for<Operands...>{});
}

}  // namespace LOCUS_MODE
}  // namespace detail

namespace internal {
inline namespace LOCUS_MODE {

/// means: both certainly have the same value; false also where that is not visible
template <class E>
bool same_reading(E const& a, E const& b) {
  return &a == &b || detail::same_parts(a, b);
}

}  // namespace LOCUS_MODE
}  // namespace internal

}  // namespace locus
