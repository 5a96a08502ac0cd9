// SPDX-License-Identifier: Apache-2.0
// The cut of a value in pieces, from its expression: along which axis, and how many rows windows have left out.
#pragma once
#include <locus/core/macros.hpp>         // LOCUS_MODE
#include <locus/grad/adjoint.hpp>        // reads_replicas
#include <locus/grad/stop_gradient.hpp>  // stop_gradient_op
#include <locus/ops/concatenate.hpp>     // concatenate_op
#include <locus/ops/softmax.hpp>         // softmax_op
#include <locus/ops/views.hpp>           // is_view_kind
#include <locus/plan/plan.hpp>           // device_of

namespace locus::detail {

/// The cut of a value in pieces: its axis, counted from the right (-1: no pieces), and how many rows
/// the value has less than its tensors.
struct cut_of_value {
  int from_right = -1, span = 0;
};
/// means: the step of Op with an operand of pattern x
template <class Op, class T>
constexpr step facts_of(shape const& x) {
  step s;
  s.extents = Op::infer(x);
  if constexpr (requires { Op::template describe<T>(s, 0); }) Op::template describe<T>(s, x.rank);
  return s;
}
/// means: where the cut of an operand stands in the result of a view or a fold of other axes
constexpr int cut_behind(step const& s, step_kind kind, int from_right, int rank) {
  int const axis = rank - 1 - from_right;
  if (kind == step_kind::expand) return from_right + int(s.axis > axis);
  if (kind == step_kind::at) return from_right - int(s.axis > axis);
  if (kind == step_kind::transpose) {
    int k = 0;
    while (s.order[k] != axis) ++k;
    return rank - 1 - k;
  }
  if (kind != step_kind::reduce || s.keep) return from_right;
  int behind = 0;
  for (int a = axis + 1; a < rank; ++a) behind += has_axis(s.axes, a);
  return from_right - behind;
}
/// means: where the cut of a fold stands in its operand
constexpr int cut_in_front(axis_set folded, int rank, int from_right) {
  int axis = rank - 1;
  while (has_axis(folded, axis) || from_right-- > 0) --axis;
  return rank - 1 - axis;
}
/// means: the result lies where its operands lie
template <class Op>
inline constexpr bool is_map = false;
template <class F>
inline constexpr bool is_map<map_op<F>> = true;
template <int Axis>
inline constexpr bool is_map<concatenate_op<Axis>> = true;
template <int Axis, bool Log>
inline constexpr bool is_map<softmax_op<Axis, Log>> = true;
template <>
inline constexpr bool is_map<stop_gradient_op> = true;
/// means: a view or a fold: its step says where the cut of its operand stands
template <class Op>
inline constexpr bool is_followed = false;
template <class Op>
  requires requires { Op::kind; }
inline constexpr bool is_followed<Op> =
    (is_view_kind(Op::kind) && Op::kind != step_kind::reshape) || Op::kind == step_kind::reduce;

template <class E>
inline constexpr cut_of_value cut_of{};
template <class T, class E, class Policy, class Source>
inline constexpr cut_of_value cut_of<Leaf<T, E, Policy, Source>> = {
    Policy::value.is_sharded() ? E::rank() - 1 - Policy::value.axis : -1};
template <class Id, class E>
inline constexpr cut_of_value cut_of<Bound<Id, E>> = cut_of<E>;
template <class Op, class X, class... More>
consteval cut_of_value cut_of_node() {
  using N = Node<Op, X, More...>;
  constexpr cut_of_value of = cut_of<X>;
  constexpr int rank = X::pattern.rank, axis = rank - 1 - of.from_right;
  if constexpr (is_map<Op>) {
    cut_of_value most;
    for (cut_of_value const& c : {of, cut_of<More>...})
      if (c.from_right >= 0 && (most.from_right < 0 || c.span > most.span)) most = c;
    return most;
  } else if constexpr (!is_followed<Op>) {
    if constexpr (!internal::reads_replicas<N> || of.span > 0 || ((cut_of<More>.span > 0) || ...))
      return {};
    else
      return {device_of<N>.is_sharded() ? N::pattern.rank - 1 - device_of<N>.axis : -1};
  } else if constexpr (of.from_right < 0)
    return of;
  else {
    step const s = facts_of<Op, typename X::value_type>(X::pattern);
    bool const along = has_axis(s.axes, axis);
    if (Op::kind == step_kind::slice)
      return {of.from_right, of.span + (along ? int(s.front[axis]) + s.back[axis] : 0)};
    if (Op::kind == step_kind::reduce && along) return {};
    return {cut_behind(s, Op::kind, of.from_right, rank), of.span};
  }
}
template <class Op, class... Xs>
inline constexpr cut_of_value cut_of<Node<Op, Xs...>> = cut_of_node<Op, Xs...>();

/// means: E has rows along the cut
template <class E, int FromRight>
inline constexpr bool has_rows =
    (E::pattern.rank > FromRight) && E::pattern.from_right(FromRight) != 1;

}  // namespace locus::detail
