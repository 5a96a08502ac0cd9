// SPDX-License-Identifier: Apache-2.0
// The values of a loss that gradients pass through, the values that gradients read, and how often
// each value occurs.
#pragma once
#include <locus/core/type_list.hpp>  // contains_v
#include <locus/expr/let.hpp>        // Bound
#include <locus/grad/pullback.hpp>   // pullback

namespace locus::detail {

// ---- kinds of expressions ----

template <class E>
inline constexpr bool is_view_leaf = false;
template <class T, class E, class Policy, bool Dense>
inline constexpr bool is_view_leaf<ViewLeaf<T, E, Policy, Dense>> = true;
template <class E>
inline constexpr bool is_leaf = is_view_leaf<E>;
template <class T, class E, class Policy, class Source>
inline constexpr bool is_leaf<Leaf<T, E, Policy, Source>> = true;
template <class E>
inline constexpr bool is_let = false;
template <class Id, class E>
inline constexpr bool is_let<Bound<Id, E>> = true;

// ---- counting ----

/// means: the number of nodes of a tree; the value of a let is another tree
template <class E>
inline constexpr int tree_size = 0;
template <class Op, class... Operands>
inline constexpr int tree_size<Node<Op, Operands...>> = (tree_size<Operands> + ... + 1);

/// means: how many times leaf L occurs in a tree, not counting operands of stop_gradient
template <class L, class E>
inline constexpr int stands_in_tree = std::is_same_v<L, E>;
template <class L, class Op, class... Operands>
inline constexpr int stands_in_tree<L, Node<Op, Operands...>> =
    std::is_same_v<Op, stop_gradient_op> ? 0 : (stands_in_tree<L, Operands> + ... + 0);
/// a part of a constant Tensor has a leaf type of its own
template <class T, class E, class Policy, bool Checked>
inline constexpr int stands_in_tree<Leaf<T, E, Policy, borrowed<Checked>>,
                                    Leaf<T, E, Policy, borrowed_constant<Checked>>> = 1;
template <class L, class Lets>
inline constexpr int stands_in_lets = 0;
template <class L, class... Lets>
inline constexpr int stands_in_lets<L, type_list<Lets...>> =
    ((is_leaf<typename Lets::expression_type>
          ? 0
          : stands_in_tree<L, typename Lets::expression_type>)+... +
     0);
/// means: how many times L occurs in an expression; the value of each let counts once
template <class L, class E>
inline constexpr int stands_in = stands_in_tree<L, E> + stands_in_lets<L, typename E::lets>;

// ---- activity ----

/// means: E depends on a target through floating values, and not only through stop_gradient
template <class Targets, class E>
inline constexpr bool is_active = contains_v<E, Targets>;
template <class Targets, class Id, class E>
inline constexpr bool is_active<Targets, Bound<Id, E>> =
    contains_v<Bound<Id, E>, Targets> || (!is_leaf<E> && is_active<Targets, E>);
template <class Targets, class Op, class... Operands>
inline constexpr bool is_active<Targets, Node<Op, Operands...>> =
    is_floating_v<typename Node<Op, Operands...>::value_type> &&
    !std::is_same_v<Op, stop_gradient_op> && (is_active<Targets, Operands> || ...);
/// means: E depends on a target through complex values, and not only through stop_gradient, in
///        which gradients do not look: a path that grad must refuse, as it would count as constant
template <class Targets, class E>
inline constexpr bool leads_through_complex = false;
template <class Targets, class E>
inline constexpr bool reads_target = contains_v<E, Targets>;
template <class Targets, class Id, class E>
inline constexpr bool reads_target<Targets, Bound<Id, E>> =
    contains_v<Bound<Id, E>, Targets> || (!is_leaf<E> && reads_target<Targets, E>);
template <class Targets, class Op, class... Operands>
inline constexpr bool reads_target<Targets, Node<Op, Operands...>> =
    (is_floating_v<typename Node<Op, Operands...>::value_type> ||
     is_complex_v<typename Node<Op, Operands...>::value_type>) &&
    !std::is_same_v<Op, stop_gradient_op> && (reads_target<Targets, Operands> || ...);
template <class Targets, class Id, class E>
inline constexpr bool leads_through_complex<Targets, Bound<Id, E>> =
    leads_through_complex<Targets, E>;
template <class Targets, class Op, class... Operands>
inline constexpr bool leads_through_complex<Targets, Node<Op, Operands...>> =
    reads_target<Targets, Node<Op, Operands...>> &&
    (is_complex_v<typename Node<Op, Operands...>::value_type> ||
     (leads_through_complex<Targets, Operands> || ...));
template <class Targets, class... Operands>
constexpr unsigned active_operands() {
  unsigned set = 0, bit = 1;
  ((set |= is_active<Targets, Operands> ? bit : 0, bit <<= 1), ...);
  return set;
}

// ---- values that derivatives read ----

template <class Op>
concept lets_gradients_pass = requires { pullback<Op>::reads(0); };
/// means: the union of the values that the adjoints of the active operands read
template <class Op>
constexpr unsigned reads_of(unsigned active) {
  unsigned all = 0;
  if constexpr (lets_gradients_pass<Op>)
    for (int k = 0; active >> k; ++k)
      if (active >> k & 1) all |= pullback<Op>::reads(k);
  return all;
}

template <class Op>
inline constexpr bool is_view_op = false;
template <class Op>
  requires requires { Op::kind; }
inline constexpr bool is_view_op<Op> = is_view_kind(Op::kind);
template <class Op>
inline constexpr bool is_light_map = false;
template <class Op>
  requires requires { Op::kind; }
inline constexpr bool is_light_map<Op> = Op::kind == step_kind::map && !Op::op.heavy;

/// means: computing the value again costs no more than keeping it
template <class E>
inline constexpr bool is_cheap = true;  // leaves, numbers, values of lets
template <class Op, class... Operands>
inline constexpr bool is_cheap<Node<Op, Operands...>> =
    (is_view_op<Op> || is_light_map<Op>) && (is_cheap<Operands> && ...);

}  // namespace locus::detail
