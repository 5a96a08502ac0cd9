// SPDX-License-Identifier: Apache-2.0
// The one inner node of expressions, and the members that an operation must have.
#pragma once
#include <utility>  // forward, move

#include <locus/core/pack.hpp>          // pack, get, for_each_index
#include <locus/core/type_list.hpp>     // union_t, concatenate_t
#include <locus/expr/builder.hpp>       // builder, binder, entry, request
#include <locus/expr/operation.hpp>     // operation
#include <locus/expr/unassignable.hpp>  // unassignable, LOCUS_ASSIGNING_OPERATORS

namespace locus {

// An operation is a type with
//   kind                       the kind of its step
//   op                         its row of the table of operations
//   result<T...>               the element type
//   infer(shape...)            the shape, no_shape where the operands do not fit
//   describe<T...>(step&, r)   other facts for the passes; r: the rank of the first operand
//   bind(binder&)              sets extents or ranges that are known at run time (optional)
// An operation that is not exactly one step has, instead of kind, op and describe,
//   steps, edges, entries<T...>, emit_steps<T...>(builder&, request, operands)
//   inherited(request)         the request that its operands inherit (optional)
//   bind_device(binder&)       sets the device of an open request (optional)

/// An operation of several steps, or of none.
template <class Op>
concept composite = requires { Op::steps; };

namespace internal {
/// an operation that selects a part of the elements of its operand, each once
template <class Op>
concept selects_elements =
    requires { Op::kind; } && (Op::kind == step_kind::slice || Op::kind == step_kind::at);
/// writes the elements of a part of a tensor (tensor/assign_part.hpp)
template <class Part>
struct part_writer;
}  // namespace internal

namespace detail {

template <class... T>
constexpr bool all_in(element_set set) {
  return (set.contains(element_of_v<T>) && ... && true);
}

/// means: the step of a one-step operation over operands of element types T...
template <class Op, class... T, std::size_t... Idx>
constexpr step step_of(builder const& b, request r, short const* operands,
                       std::index_sequence<Idx...>) {
  using Result = typename Op::template result<T...>;
  step s;
  s.kind = Op::kind;
  s.name = Op::op.name, s.tensorflow = Op::op.tensorflow, s.heavy = Op::op.heavy;
  s.commutes = Op::op.commutes, s.ends = Op::op.ends;
  s.on_cpu = all_in<T...>(Op::op.cpu), s.on_gpu = all_in<T...>(Op::op.gpu);
  s.type = element_of_v<Result>, s.element_bytes = sizeof(Result);
  s.request = r.where, s.strict = r.strict;
  s.extents = Op::infer(b.steps[operands[Idx]].extents...);
  if constexpr (requires { Op::template describe<T...>(s, 0); })
    Op::template describe<T...>(s, b.steps[operands[0]].extents.rank);
  return s;
}

}  // namespace detail

namespace internal {

/// means: adds the step of operation Op to the plan that b builds; returns its number
template <class Op, class... T>
constexpr short emit_step(builder& b, request r, short const* operands) {
  return b.add(step_of<Op, T...>(b, r, operands, std::index_sequence_for<T...>{}), operands,
               sizeof...(T));
}

/// The operation Op with results of type Result: a mean of halves whose rows stay floats.
template <class Op, class Result>
struct with_result : Op {
  template <class...>
  using result = Result;
};
/// means: Op where its results of operands T... have that type, else with_result<Op, Result>
template <class Op, class Result, class... T>
using resulting = std::conditional_t<std::is_same_v<typename Op::template result<T...>, Result>, Op,
                                     with_result<Op, Result>>;

}  // namespace internal

namespace detail {

template <class Op, class... T>
struct entries_of {
  using type = type_list<entry<Op, typename Op::template result<T...>>>;
};
template <composite Op, class... T>
struct entries_of<Op, T...> {
  using type = typename Op::template entries<T...>;
};

template <class Op>
consteval bool refuse_index() {
  static_assert(always_false<Op>,
                "locus: an expression has no elements before it is computed; write "
                "fetch(e)(i, j)");
  return false;
}

}  // namespace detail

/// means: r = op(operands...)     shape: Op::infer     device: the plan's     cost: the plan's
/// fails: for shapes that do not fit: static ones where the node is built, dynamic ones at binding
template <class Op, class... Operands>
struct [[nodiscard(
    "locus: an expression runs nothing by itself; assign it, or write eval(e)")]] Node {
  using value_type = typename Op::template result<typename Operands::value_type...>;
  using lets = union_t<typename Operands::lets...>;
  using own_entries = typename detail::entries_of<Op, typename Operands::value_type...>::type;
  using entries = concatenate_t<typename Operands::entries..., own_entries>;
  static constexpr shape pattern = Op::infer(Operands::pattern...);
  static constexpr int steps = (own_entries::size + ... + Operands::steps);
  static constexpr int own_edges = [] {
    if constexpr (composite<Op>)
      return Op::edges;
    else
      return static_cast<int>(sizeof...(Operands));
  }();
  static constexpr int edges = (own_edges + ... + Operands::edges);

  [[no_unique_address]] Op op;
  pack<Operands...> operands;
  [[no_unique_address]] unassignable<Op> written{};  // assigning an expression with a name
  /// assigning a value to a part of a tensor
  template <class X>
  [[gnu::always_inline]] void operator=(X&& x) && {
    if constexpr (internal::selects_elements<Op>)
      internal::part_writer<Node>::write(*this, static_cast<X&&>(x));
    else
      unassignable<Op>::template refuse<X>();
  }
  /// assigning to an expression with a name
  template <class X>
  void operator=(X&&) const& {
    unassignable<Op>::template refuse<X>();
  }

  template <class Lets>
  static constexpr short flatten(builder& b, request r) {
    request inherited = r;
    if constexpr (requires { Op::inherited(r); }) inherited = Op::inherited(r);
    short const at[] = {Operands::template flatten<Lets>(b, inherited)...};
    if constexpr (composite<Op>)
      return Op::template emit_steps<typename Operands::value_type...>(b, r, at);
    else
      return internal::emit_step<Op, typename Operands::value_type...>(b, r, at);
  }
  void bind(binder& b) const {
    for_each_index<sizeof...(Operands)>([&](auto k) { get<k>(operands).bind(b); });
    if constexpr (requires { op.bind_device(b); }) op.bind_device(b);
    for (int i = 0; i < own_entries::size; ++i) {
      b.objects[b.at] = &op;
      if constexpr (requires { op.bind(b); }) op.bind(b);
      ++b.at;
    }
  }
  template <class Lets>
  void find_lets(void const** cells) const {
    for_each_index<sizeof...(Operands)>([&](auto k) {
      using Operand = std::remove_cvref_t<decltype(get<k>(operands))>;
      if constexpr (Operand::lets::size > 0) get<k>(operands).template find_lets<Lets>(cells);
    });
  }
  template <class... Index>
  auto operator()(Index...) const {
    return detail::refuse_index<Op>();
  }
  template <class Index>
  auto operator[](Index) const {
    return detail::refuse_index<Op>();
  }
  explicit operator bool() const {
    static_assert(
        always_false<Op>,
        "locus: an expression is no condition, its value may lie on a GPU; write if (fetch(e))");
    return false;
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  operator Number() const {
    static_assert(always_false<Number>,
                  "locus: an expression is no number, its value may lie on a GPU; write fetch(e)");
    return Number();
  }
};

#define LOCUS_ASSIGNING(symbol)                                                                \
  template <class Op, class... Operands, class X>                                              \
  [[gnu::always_inline]] inline void operator symbol##=(Node<Op, Operands...>&& part, X&& x) { \
    if constexpr (internal::selects_elements<Op>)                                              \
      std::move(part) = part symbol std::forward<X>(x);                                        \
    else                                                                                       \
      unassignable<Op>::template refuse<X>();                                                  \
  }                                                                                            \
  template <class Op, class... Operands, class X>                                              \
  void operator symbol##=(Node<Op, Operands...> const&, X const&) {                            \
    unassignable<Op>::template refuse<X>();                                                    \
  }
LOCUS_ASSIGNING_OPERATORS(LOCUS_ASSIGNING)
#undef LOCUS_ASSIGNING

template <class Op, class... Operands>
constexpr auto make_node(Op op, Operands... operands) {
  return Node<Op, Operands...>{std::move(op), {{std::move(operands)}...}};
}

}  // namespace locus
