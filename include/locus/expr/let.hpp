// SPDX-License-Identifier: Apache-2.0
// let and named: a value with an identity in its type, computed once for all its readers.
#pragma once
#include <locus/core/error.hpp>         // placement_error
#include <locus/core/macros.hpp>        // LOCUS_MODE
#include <locus/core/shared.hpp>        // shared
#include <locus/core/text.hpp>          // fixed_string, char_list
#include <locus/core/type_list.hpp>     // index_in, union_t
#include <locus/expr/builder.hpp>       // builder, binder
#include <locus/expr/operand.hpp>       // as_operand, tensor_operand
#include <locus/expr/same_reading.hpp>  // same_reading
#include <locus/expr/unassignable.hpp>  // unassignable

namespace locus {

/// means: a and b are the same value; Id::same decides, if Id has it
template <class Id, class E>
bool same_value(E const& a, E const& b) {
  if constexpr (requires { Id::same(a, b); })
    return Id::same(a, b);
  else
    return internal::same_reading(a, b);
}
template <class Lets, class E>
void find_lets_in(E const& e, void const** cells) {
  if constexpr (E::lets::size > 0) e.template find_lets<Lets>(cells);
}

namespace internal {

/// fails: placement_error: one name of a let stands for two values
[[noreturn]] inline void refuse_second_let() {
  throw placement_error(
      "locus: one lambda or one name stands for two different values of one plan; give each let a "
      "lambda of its own, each named a name of its own");
}

}  // namespace internal

/// means: the value of expression E under the name Id: one value for all its readers
/// cost:  E is flattened once for each plan; copies of a Bound share one E
template <class Id, class E>
struct [[nodiscard(
    "locus: an expression runs nothing by itself; assign it, or write eval(e)")]] Bound {
  using value_type = typename E::value_type;
  using expression_type = E;
  using lets = union_t<typename E::lets, type_list<Bound>>;
  using entries = type_list<>;  // the entries of E are in the plan's section of lets
  static constexpr shape pattern = E::pattern;
  static constexpr int steps = 0, edges = 0;
  shared<E> value;
  [[no_unique_address]] unassignable<E> written{};
  template <class X>
  void operator=(X&&) const {
    unassignable<E>::template refuse<X>();
  }

  template <class Lets>
  static constexpr short flatten(builder& b, request) {
    return b.lets[index_in<Bound>(Lets{})];
  }
  void bind(binder&) const {}
  /// cells[k] = the expression of the k-th of Lets; refuses two different ones of one name
  template <class Lets>
  void find_lets(void const** cells) const {
    void const*& cell = cells[index_in<Bound>(Lets{})];
    if (cell == value.get()) return;
    if (cell && !same_value<Id>(*static_cast<E const*>(cell), *value))
      internal::refuse_second_let();
    cell = value.get();
    find_lets_in<Lets>(*value, cells);
  }
  explicit operator bool() const {
    static_assert(
        always_false<E>,
        "locus: an expression is no condition, its value may lie on a GPU; write if (fetch(e))");
    return false;
  }
};

inline namespace LOCUS_MODE {

/// means: f(h), where h stands for the value of e, computed once for all its readers in one plan
/// cost:  one small allocation on the host
/// fails: at binding, when one lambda was used for two lets of one plan with different values
template <tensor_operand X, class F>
constexpr auto let(X&& e, F&& f) {
  auto operand = as_operand<void, X, true>(static_cast<X&&>(e));
  using E = decltype(operand);
  return static_cast<F&&>(f)(Bound<std::remove_cvref_t<F>, E>{shared<E>::make(std::move(operand))});
}

}  // namespace LOCUS_MODE

namespace internal {
template <fixed_string Name, std::size_t... Idx>
constexpr auto char_list_of(std::index_sequence<Idx...>) {
  return char_list<Name.text[Idx]...>{};
}
}  // namespace internal

inline namespace LOCUS_MODE {

/// means: e under the name Name: all its occurrences in a plan are one value
template <fixed_string Name, tensor_operand X>
constexpr auto named(X&& e) {
  auto operand = as_operand<void, X, true>(static_cast<X&&>(e));
  using E = decltype(operand);
  using Id = decltype(internal::char_list_of<Name>(std::make_index_sequence<Name.view().size()>{}));
  return Bound<Id, E>{shared<E>::make(std::move(operand))};
}

}  // namespace LOCUS_MODE

}  // namespace locus
