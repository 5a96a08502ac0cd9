// SPDX-License-Identifier: Apache-2.0
// The extents of an expression at run time: static from its type, dynamic from its tensors.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/expr/let.hpp>       // Bound
#include <locus/expr/node.hpp>      // Node
#include <locus/ops/call.hpp>       // call_op
#include <locus/ops/map.hpp>        // extents_of
#include <locus/ops/views.hpp>      // reshape_op, slice_op
#include <locus/shape/extents.hpp>  // Extents

namespace locus::internal {
inline namespace LOCUS_MODE {

/// means: the extents of e at this moment
/// fails: shape_error
template <class E>
constexpr shape shape_now(E const& e);

}  // namespace LOCUS_MODE
}  // namespace locus::internal

namespace locus::detail {
inline namespace LOCUS_MODE {

template <class T, class E, class Policy, class Source>
shape open_shape(Leaf<T, E, Policy, Source> const& leaf) {
  tensor_block const* const block = leaf.source.find();
  if (!block) refuse_dead_leaf(row_of(element_of_v<T>).name, E::pattern, Policy::value, 0);
  return block->extents;
}
template <class T, class E, class Policy, bool Dense>
constexpr shape open_shape(ViewLeaf<T, E, Policy, Dense> const& leaf) {
  return leaf.extents;
}
template <class E>
constexpr shape open_shape(Index<E> const& index) {
  return index.extents.as_shape();
}
template <class Id, class E>
constexpr shape open_shape(Bound<Id, E> const& let) {
  return shape_now(*let.value);
}

/// infer of an operation, with its run-time state where it has one
template <class Op, class... Shapes>
constexpr shape infer_now(Op const&, Shapes const&... s) {
  return Op::infer(s...);
}
template <class E>
constexpr shape infer_now(reshape_op<E> const& op, shape const& s) {
  return reshaped(s, op.to);
}
template <axis_set Cut, std::int64_t... Static>
constexpr shape infer_now(slice_op<Cut, Static...> const& op, shape s) {
  for (int a = 0; a < s.rank; ++a)
    if (has_axis(Cut, a)) s.extent[a] = op.ranges[a].length(s.extent[a]);
  return s;
}
template <axis_set Cut>
constexpr shape infer_now(strided_op<Cut> const& op, shape const& s) {
  return infer_now(static_cast<slice_op<Cut> const&>(op), s);
}
template <class Op, class... Shapes>
constexpr shape infer_now(call_op<Op> const& op, Shapes const&... s) {
  shape const operands[] = {s...};
  return infer_call<Op>(&op.op, 0, operands);
}
template <class Op, class... Operands, std::size_t... K>
constexpr shape infer_node_now(Node<Op, Operands...> const& e, std::index_sequence<K...>) {
  return infer_now(e.op, shape_now(get<K>(e.operands))...);
}
template <class Op, class... Operands>
constexpr shape open_shape(Node<Op, Operands...> const& e) {
  return infer_node_now(e, std::index_sequence_for<Operands...>{});
}

/// means: the extents of result `which` of the call that e reaches: through a name, through on<Device>
template <class Op, class... Operands, std::size_t... K>
constexpr shape result_now(Node<call_op<Op>, Operands...> const& e, int which,
                           std::index_sequence<K...>) {
  shape const operands[] = {shape_now(get<K>(e.operands))...};
  return infer_call<Op>(&e.op.op, which, operands);
}
template <class Op, class... Operands>
constexpr shape result_now(Node<call_op<Op>, Operands...> const& e, int which) {
  return result_now(e, which, std::index_sequence_for<Operands...>{});
}
template <class Id, class E>
constexpr shape result_now(Bound<Id, E> const& let, int which) {
  return result_now(*let.value, which);
}
template <class Op, class E>
constexpr shape result_now(Node<Op, E> const& e, int which) {
  return result_now(get<0>(e.operands), which);
}
template <int K, class E, class Call>
constexpr shape open_shape(Node<call_result_op<K, E>, Call> const& e) {
  return result_now(get<0>(e.operands), K);
}

}  // namespace LOCUS_MODE
}  // namespace locus::detail

namespace locus::internal {
inline namespace LOCUS_MODE {

/// means: the extents that e would have if it ran now; no_shape where its operands do not fit
/// fails: bad_access, for a tensor that was destroyed or moved from
template <class E>
constexpr shape shape_now(E const& e) {
  if constexpr (E::pattern.is_static())
    return E::pattern;
  else
    return open_shape(e);
}
/// means: the same as Extents: static where the type knows them
/// fails: shape_error
template <class E>
constexpr auto extents_now(E const& e) {
  return extents_of<E>(shape_now(e));
}

}  // namespace LOCUS_MODE
}  // namespace locus::internal
