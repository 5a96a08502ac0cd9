// SPDX-License-Identifier: Apache-2.0
// From the adjoint of a loss to the adjoints of its targets: each tree is visited from its root to
// its leaves, each let after all expressions that read it.
#pragma once
#include <locus/grad/forward.hpp>  // rewritten, let_table, adjoint_of

namespace locus::detail {

/// One term of an adjoint. To: the index of its target, or targets::size plus that of its let.
template <int To, class G>
struct contribution {
  static constexpr int to = To;
  G g;
};
template <class... Contributions>
struct contributions {
  pack<Contributions...> all;
};

/// Types that every step of the backward pass needs. Targets and Lets are those of the rewritten
/// loss.
template <class Owner, class Targets, class Lets>
struct tape {
  using owner = Owner;
  using targets = Targets;
  using lets = Lets;
};

template <class Op>
inline constexpr bool is_map_op = false;
template <class F>
inline constexpr bool is_map_op<map_op<F>> = true;
template <class Op>
struct called_by;
template <class Op>
struct called_by<call_op<Op>> {
  using type = Op;
};
template <class Op>
inline constexpr bool is_call_op = requires { typename called_by<Op>::type; };
template <class Op>
struct no_gradient_passes;  // the second error prints its argument

template <class Op, bool Passes>
consteval bool require_pullback() {
  if constexpr (requires { Op::named::template require_derivative<true>(); })
    return Op::named::template require_derivative<Passes>();
  else {
    static_assert(Passes,
                  "locus: no gradient passes an operation of the loss, which is printed below; "
                  "give it a derivative(y, x...) or a pullback(g, y, x...) of expressions, or "
                  "write stop_gradient(e) around it");
    return Passes;
  }
}
/// means: Op has a pullback for result Y and operands Xs     fails: at compile time
template <class Op, class Id, class G, class Y, class... Xs>
consteval bool require_passage() {
  if constexpr (is_call_op<Op>)
    return require_pullback<
        Op, gives_pullback<typename called_by<Op>::type, Id,
                           decltype(filled(std::declval<G>(), std::declval<Y>())), Y, Xs...>>();
  else if constexpr (is_map_op<Op>)
    return require_pullback<Op, has_row<typename Op::functor> ||
                                    gives_derivative<typename Op::functor, Y, Xs...>>();
  else
    return require_pullback<Op, lets_gradients_pass<Op>>();
}
template <class E, class Targets>
constexpr int adjoint_uses = 1;
template <class Op, class... Operands, class Targets>
  requires lets_gradients_pass<Op>
constexpr int adjoint_uses<Node<Op, Operands...>, Targets> =
    pullback<Op>::uses(active_operands<Targets, Operands...>());

inline namespace LOCUS_MODE {

template <int To, class... Done, class G, std::size_t... K>
constexpr auto with_term(contributions<Done...> const& all, G g, std::index_sequence<K...>) {
  return contributions<Done..., contribution<To, G>>{{{get<K>(all.all)}..., {{std::move(g)}}}};
}
template <int To, class... Done, class G>
constexpr auto with_term(contributions<Done...> const& all, G g) {
  return with_term<To>(all, std::move(g), std::index_sequence_for<Done...>{});
}

/// means: g, bound to a name if it is read more than once
template <class Id, int Uses, class G>
constexpr auto shared_adjoint(G g) {
  if constexpr (Uses > 1 && is_computed<G>)
    return bind_as<Id>(std::move(g));
  else
    return g;
}

template <int K, class Op, class G, class Y, class X, class... Operands, std::size_t... Idx>
constexpr auto adjoint_by_rule(Node<Op, Operands...> const& e, G const& g, Y const& y, X const& x,
                               std::index_sequence<Idx...>) {
  using T = typename X::value_type;
  auto const part = pullback<Op>::template of<K>(e.op, g, y, get<Idx>(e.operands)...);
  if constexpr (is_map_op<Op>)
    return as_element<T>(summed_back(part, y, x));
  else
    return as_element<T>(part);
}
/// means: the adjoint of operand K
template <int K, class Id, class Op, class G, class Y, class... Operands, std::size_t... Idx>
constexpr auto adjoint_of_operand(Node<Op, Operands...> const& e, G const& g, Y const& y,
                                  std::index_sequence<Idx...>) {
  auto const& x = get<K>(e.operands);
  using X = std::remove_cvref_t<decltype(x)>;
  using T = typename X::value_type;
  if constexpr (is_call_op<Op>)
    return as_element<T>(
        pullback<Op>::template named<K, Id>(e.op, filled(g, y), y, get<Idx>(e.operands)...));
  else
    return adjoint_by_rule<K>(e, g, y, x, std::index_sequence<Idx...>{});
}
template <class Tape, int Tree, int At, class All, class E, class G>
constexpr auto collect(All const& all, E const& e, G const& g);

template <class Tape, int Tree, int At, unsigned Active, int K, class All, class Op,
          class... Operands, class G, class Y>
constexpr auto collect_operands(All const& all, Node<Op, Operands...> const& e, G const& g,
                                Y const& y) {
  if constexpr ((Active >> K) == 0)
    return all;
  else if constexpr ((Active >> K & 1) == 0)
    return collect_operands<Tape, Tree, At, Active, K + 1>(all, e, g, y);
  else {
    auto const part = adjoint_of_operand<K, inner_value<typename Tape::owner, Tree, At>>(
        e, g, y, std::index_sequence_for<Operands...>{});
    return collect_operands<Tape, Tree, At, Active, K + 1>(
        collect<Tape, Tree, at_operand<At, Operands...>(K)>(all, get<K>(e.operands), part), e, g,
        y);
  }
}
/// means: the contributions of node e, whose value y has the adjoint g
template <class Tape, int Tree, int At, bool Shared, class All, class Op, class... Operands,
          class G, class Y>
constexpr auto collect_node(All const& all, Node<Op, Operands...> const& e, G const& g,
                            Y const& y) {
  constexpr unsigned active = active_operands<typename Tape::targets, Operands...>();
  if constexpr (require_passage<Op, inner_value<typename Tape::owner, Tree, At>, G, Y,
                                Operands...>()) {
    constexpr int uses = Shared ? 1 : pullback<Op>::uses(active);
    auto const once = shared_adjoint<adjoint_of<typename Tape::owner, Tree, At>, uses>(g);
    if constexpr (is_map_op<Op>)
      require_seen_stretches<active, G>(e, y, std::index_sequence_for<Operands...>{});
    return collect_operands<Tape, Tree, At, active, 0>(all, e, once, y);
  } else
    return sizeof(no_gradient_passes<Op>);
}

/// means: all, and the contributions of e, whose adjoint is g
template <class Tape, int Tree, int At, class All, class E, class G>
constexpr auto collect(All const& all, E const& e, G const& g) {
  constexpr int target = index_in<E>(typename Tape::targets{});
  constexpr int let = index_in<E>(typename Tape::lets{});
  if constexpr (!is_active<typename Tape::targets, E>)
    return all;
  else if constexpr (let < Tape::lets::size)
    return with_term<Tape::targets::size + let>(all, g);
  else if constexpr (target < Tape::targets::size)
    return with_term<target>(all, g);
  else if constexpr (is_kept<E>)
    return collect_node<Tape, Tree, At, false>(all, *e.value, g, e);
  else
    return collect_node<Tape, Tree, At, false>(all, e, g, e);
}

// ---- sums of contributions ----
/// means: the number of contributions to To
template <int To, class... Contributions>
constexpr int count_terms = (int(Contributions::to == To) + ... + 0);
template <int To, class... Contributions>
constexpr std::size_t nth_term(int n) {
  int const to[] = {Contributions::to...};
  std::size_t k = 0;
  while (to[k] != To || n-- > 0) ++k;
  return k;
}
template <class G>
constexpr auto total(G const& g) {
  return g;
}
template <class G, class H, class... More>
constexpr auto total(G const& g, H const& h, More const&... more) {
  if constexpr (sizeof...(More) == 0)
    return plus(g, h);
  else
    return add_n(g, h, more...);
}
template <int To, class... Contributions, std::size_t... N>
constexpr auto total_of(contributions<Contributions...> const& all, std::index_sequence<N...>) {
  return total(get<nth_term<To, Contributions...>(int(N))>(all.all).g...);
}
/// means: the sum of the contributions to To, at least one
template <int To, class... Contributions>
constexpr auto total_of(contributions<Contributions...> const& all) {
  return total_of<To>(all,
                      std::make_index_sequence<std::size_t(count_terms<To, Contributions...>)>{});
}
// ---- lets ----
template <class Tape, int K, class Let, class All, class G>
constexpr auto collect_let(All const& all, Let const& let, G const& g) {
  using targets = typename Tape::targets;
  using E = typename Let::expression_type;
  constexpr int target = index_in<Let>(targets{});
  constexpr bool wanted = target < targets::size, inside = !is_leaf<E> && is_active<targets, E>;
  constexpr int uses = int(wanted) + (inside ? adjoint_uses<E, targets> : 0);
  auto const once = shared_adjoint<adjoint_of<typename Tape::owner, K + 1, -1>, uses>(g);
  auto const into_it = [&](auto const& so_far) {
    if constexpr (!inside)
      return so_far;
    else if constexpr (is_computed<E>)
      return collect_node<Tape, K + 1, 0, true>(so_far, *let.value, once, let);
    else
      return collect<Tape, K + 1, 0>(so_far, *let.value, once);
  };
  if constexpr (wanted)
    return into_it(with_term<target>(all, once));
  else
    return into_it(all);
}
/// means: all, and the contributions of lets K, K - 1, ... 0: each let after those that read it
template <class Tape, int K, class Table, class... Contributions>
constexpr auto collect_lets(contributions<Contributions...> const& all, Table const& table) {
  if constexpr (K < 0)
    return all;
  else {
    constexpr int to = Tape::targets::size + K;
    if constexpr (count_terms<to, Contributions...> == 0)
      return collect_lets<Tape, K - 1>(all, table);
    else
      return collect_lets<Tape, K - 1>(
          collect_let<Tape, K>(all, get<std::size_t(K)>(table.all), total_of<to>(all)), table);
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::detail
