// SPDX-License-Identifier: Apache-2.0
// rewrite(e): the rules of algebra<>, applied until none fits.
#pragma once
#include <cstddef>  // size_t
#include <utility>  // index_sequence, declval

#include <locus/algebra/rules.hpp>  // algebra_rules
#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/expr/operand.hpp>   // as_operand

namespace locus {

namespace internal {

/// means: the first rule whose form E has; void: none
template <class E, class Rules>
struct rule_for {
  using type = void;
};
template <class E, class Rule, class... Rest>
struct rule_for<E, type_list<Rule, Rest...>> : rule_for<E, type_list<Rest...>> {};
template <class E, class Rule, class... Rest>
  requires requires(E const& e) { Rule::apply(e); }
struct rule_for<E, type_list<Rule, Rest...>> {
  using type = Rule;
};
template <class E>
using rule_for_t = typename rule_for<E, algebra_rules>::type;

/// One rewrite: the rule, and its expression before and after.
template <class Rule, class Before, class After>
struct rewrite_note;

/// means: E after all rewrites, and their notes. First the outer form, then what lies inside: a rule
///        of the outer form may make the inner work unnecessary
template <class E, class Rule = rule_for_t<E>>
struct rewriting_of {
  using next = decltype(Rule::apply(std::declval<E const&>()));
  using notes =
      concatenate_t<type_list<rewrite_note<Rule, E, next>>, typename rewriting_of<next>::notes>;
  static constexpr auto apply(E const& e) { return rewriting_of<next>::apply(Rule::apply(e)); }
};
/// a leaf, a number, a value under a name
template <class E>
struct rewriting_of<E, void> {
  using notes = type_list<>;
  static constexpr E apply(E const& e) { return e; }
};
/// a node without a rule of its own; new operands may give it one
template <class Op, class... X>
struct rewriting_of<Node<Op, X...>, void> {
  using E = Node<Op, X...>;
  using inner = concatenate_t<typename rewriting_of<X>::notes...>;
  static constexpr auto of_operands(E const& e) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return make_node(e.op, rewriting_of<X>::apply(get<K>(e.operands))...);
    }(std::index_sequence_for<X...>{});
  }
  static constexpr auto find_notes() {
    if constexpr (inner::size == 0)
      return inner{};
    else
      return concatenate_t<
          inner, typename rewriting_of<decltype(of_operands(std::declval<E const&>()))>::notes>{};
  }
  using notes = decltype(find_notes());
  static constexpr auto apply(E const& e) {
    if constexpr (inner::size == 0)
      return e;
    else
      return rewriting_of<decltype(of_operands(e))>::apply(of_operands(e));
  }
};

template <class E>
using rewritten_t = decltype(rewriting_of<E>::apply(std::declval<E const&>()));

}  // namespace internal

inline namespace LOCUS_MODE {

/// means: e after the rules of algebra<>; for a part under `let` or `named`, which a plan under
///        algebra<> leaves as it is: let(rewrite(matmul(matmul(a, b), c)), f)
/// shape: that of e
template <tensor_operand X>
constexpr auto rewrite(X&& e) {
  auto const operand = as_operand<void>(static_cast<X&&>(e));
  using E = std::remove_cvref_t<decltype(operand)>;
  return internal::rewriting_of<E>::apply(operand);
}

}  // namespace LOCUS_MODE

}  // namespace locus
