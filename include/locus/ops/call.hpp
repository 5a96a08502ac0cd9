// SPDX-License-Identifier: Apache-2.0
// call(op, x...): an operation with its own kernel as a step of the plan.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/expr/call_rule.hpp>  // call_rule, call_facts
#include <locus/expr/let.hpp>        // Bound
#include <locus/ops/map.hpp>         // map_op, checked_node
#include <locus/ops/on.hpp>          // on_op
#include <locus/ops/operations.hpp>  // LOCUS_SENTENCES
#include <locus/ops/views.hpp>       // transpose_op, slice_op
#include <locus/shape/tile.hpp>      // tile, call_context

namespace locus {

inline namespace LOCUS_MODE {
class card_context;
}

// The operation of a call is a type whose data members are parameters of one run, with
//   static constexpr call_rule rule
//       its name, the roles of its operands and results
//   constexpr shape infer(int result, shape...)
//       the extents of a result; no_shape where operands do not fit. Where infer is static, static
//       extents stay static; where it is not, it may read the data members, and the plan knows only
//       ranks until it is bound
//   template <int Result, class... T> using result                       (optional)
//       the element type of a result; without it, that of the first operand
//   void host(call_context const&, tile<R>... results, tile<T const>... operands) const
//       the kernel of the CPU for a whole piece; it starts its own threads  (optional)
//   template <int Result> R element(std::int64_t i, call_context const&, tile<R> own,
//                                   tile<T const>... operands) const
//       element i of one result, LOCUS_HOST_DEVICE: the kernel of GPUs with one thread for each
//       element; also that of the CPU, if there is no host()              (optional)
//   void card(card_context&, tile<R>... results, tile<T const>... operands) const
//       the kernels of real GPUs, preferred to element(): several launches and algorithms in the
//       order of the device's queue, with workspace (engine/gpu/card_context.hpp). A unit of nvcc
//       defines it; other units only declare it                                   (optional)
//   bool is_for_cards(tile<T const>... operands) const
//       false: a GPU runs element() or team() for these operands instead of card()
//                                                                         (optional)
//   static constexpr std::int64_t operations(shape first_result, shape... operands)
//       the cost; without it, one operation for each element              (optional)
//   auto team(call_context const&, tile<R>... results, tile<T const>... operands) const
//       where the rule says by_teams: the kernel of GPUs in place of element(), for threads that
//       share a row or columns (engine/gpu/call_teams.hpp). Units of nvcc define team();
//       units of the host compiler declare it
//   static constexpr call_cut cut(call_axes const& found)
//       how the call works on pieces along any axes, in place of its roles (call_cut says how);
//       its bodies run for empty pieces, too                                      (optional)
// An operation has host(), element(), or both; without element(), team() and card() it runs on CPUs
// alone. Operands and results have no gaps. A result that no step reads is not stored: its tile has
// extents but no data (unless the rule says stores_all). On a replica without rows no kernel runs
// and its terms are 0; but if one result is whole, host() runs with 0 rows.

namespace detail {

template <class Op, int Result, class... T>
struct call_result {
  using type = at_t<0, type_list<T...>>;
};
template <class Op, int Result, class... T>
  requires requires { typename Op::template result<Result, T...>; }
struct call_result<Op, Result, T...> {
  using type = typename Op::template result<Result, T...>;
};
template <class Op, int Result, class... T>
using call_result_t = typename call_result<Op, Result, T...>::type;

template <class Op, int Result, class... T>
inline constexpr bool has_element_body = requires(
    Op const& op, call_context const& here, tile<call_result_t<Op, Result, T...>> own,
    tile<T const>... in) { op.template element<Result>(std::int64_t(), here, own, in...); };
/// element() exists for every result: GPUs can run the call
template <class Op, class Results, class... T>
inline constexpr bool has_each_element_body = false;
template <class Op, std::size_t... R, class... T>
inline constexpr bool has_each_element_body<Op, std::index_sequence<R...>, T...> =
    (has_element_body<Op, int(R), T...> && ...);

}  // namespace detail

namespace internal {

/// means: Op has an element() for each of its results
template <class Op, class... T>
inline constexpr bool has_element_bodies =
    has_each_element_body<Op, std::make_index_sequence<std::size_t(Op::rule.results.count)>, T...>;

}  // namespace internal

namespace detail {

template <class Op, class Results, class... T>
inline constexpr bool has_card_body_for = false;
template <class Op, std::size_t... R, class... T>
inline constexpr bool has_card_body_for<Op, std::index_sequence<R...>, T...> =
    requires(Op const& op, card_context& here, tile<call_result_t<Op, int(R), T...>>... own,
             tile<T const>... in) { op.card(here, own..., in...); };

}  // namespace detail

namespace internal {

/// means: Op declares card() for elements T
template <class Op, class... T>
inline constexpr bool has_card_body =
    has_card_body_for<Op, std::make_index_sequence<std::size_t(Op::rule.results.count)>, T...>;

}  // namespace internal

namespace detail {

/// means: extents in the constant plan: those of a static infer; an infer that reads the object
///        gives only the rank
template <class Op, class... Shapes>
constexpr shape call_pattern(int result, Shapes const&... s) {
  if constexpr (requires { Op::infer(result, s...); })
    return Op::infer(result, s...);
  else {
    auto open = [](shape a) {
      for (int k = 0; k < a.rank; ++k) a.extent[k] = dyn;
      return a;
    };
    return open(Op{}.infer(result, open(s)...));
  }
}
template <class Op, std::size_t... K>
constexpr shape call_extents(void const* op, int result, shape const* s,
                             std::index_sequence<K...>) {
  if constexpr (requires { Op::infer(result, s[K]...); })
    return Op::infer(result, s[K]...);
  else
    return static_cast<Op const*>(op)->infer(result, s[K]...);
}
template <class Op, std::size_t... K>
constexpr std::int64_t call_operations(shape const& result, shape const* s,
                                       std::index_sequence<K...>) {
  if constexpr (requires { Op::operations(result, s[K]...); })
    return Op::operations(result, s[K]...);
  else
    return result.size();
}
template <class Op>
using call_operands = std::make_index_sequence<std::size_t(Op::rule.operands.count)>;
template <class Op>
constexpr shape infer_call(void const* op, int result, shape const* s) {
  return call_extents<Op>(op, result, s, call_operands<Op>{});
}
template <class Op>
constexpr std::int64_t count_call(shape const& result, shape const* s) {
  return call_operations<Op>(result, s, call_operands<Op>{});
}
}  // namespace detail

namespace internal {

/// means: the operation says itself how it works in pieces
template <class Op>
concept has_own_cut = requires(call_axes const& found) { Op::cut(found); };

}  // namespace internal

namespace detail {

template <class Op>
constexpr auto cut_of_call() -> call_cut (*)(call_axes const&) {
  if constexpr (has_own_cut<Op>)
    return &Op::cut;
  else
    return nullptr;
}
template <class Op>
inline constexpr call_facts facts_of_call{Op::rule, &infer_call<Op>, &count_call<Op>,
                                          has_own_cut<Op>, cut_of_call<Op>()};

template <class CallOp, class Results, class... T>
struct call_entries;
template <class CallOp, std::size_t... R, class... T>
struct call_entries<CallOp, std::index_sequence<R...>, T...> {
  using type = type_list<entry<CallOp, call_result_t<typename CallOp::called, int(R), T...>>...>;
};

}  // namespace detail

/// means: the steps of one call: the first result has the operands as edges, the other results
///        follow
template <class Op>
struct call_op {
  using called = Op;
  using named = Op;
  static constexpr int results = Op::rule.results.count;
  static constexpr int steps = results, edges = Op::rule.operands.count + results - 1;
  template <class... T>
  using result = detail::call_result_t<Op, 0, T...>;
  template <class... T>
  using entries =
      typename detail::call_entries<call_op, std::make_index_sequence<std::size_t(results)>,
                                    T...>::type;
  [[no_unique_address]] Op op;  // an empty one has no bytes that could differ

  template <class... Shapes>
  static constexpr shape infer(Shapes const&... s) {
    return detail::call_pattern<Op>(0, s...);
  }
  template <class... T>
  static constexpr short emit_steps(builder& b, request r, short const* operands) {
    return emit_all<T...>(b, r, operands, std::make_index_sequence<std::size_t(results)>{},
                          std::index_sequence_for<T...>{});
  }

 private:
  template <class... T, std::size_t... R, std::size_t... K>
  static constexpr short emit_all(builder& b, request r, short const* operands,
                                  std::index_sequence<R...>, std::index_sequence<K...>) {
    shape const s[] = {b.steps[operands[K]].extents...};
    short const first = b.steps_used;
    (b.add(step_of<detail::call_result_t<Op, int(R), T...>>(
               int(R), detail::call_pattern<Op>(int(R), s[K]...),
               internal::has_element_bodies<Op, T...>, internal::has_card_body<Op, T...>, r),
           R == 0 ? operands : &first, R == 0 ? int(sizeof...(T)) : 1),
     ...);
    return first;
  }
  template <class T>
  static constexpr step step_of(int result, shape const& extents, bool has_kernel, bool has_card,
                                request r) {
    step s;
    s.kind = step_kind::call, s.call = &detail::facts_of_call<Op>;
    s.result = static_cast<signed char>(result), s.extents = extents;
    s.name = Op::rule.name;
    s.tensorflow = Op::rule.tensorflow.empty() ? Op::rule.name : Op::rule.tensorflow;
    s.heavy = true, s.builtin = false, s.on_gpu = has_kernel || has_card || Op::rule.by_teams;
    s.takes_workspace = has_card || Op::rule.by_teams;
    s.type = element_of_v<T>, s.element_bytes = sizeof(T);
    s.request = r.where, s.strict = r.strict;
    return s;
  }
};

namespace detail {

/// means: a plan holds the value in row order without gaps
template <class E>
inline constexpr bool lies_dense = true;
template <class T, class E, class Policy, bool Dense>
inline constexpr bool lies_dense<ViewLeaf<T, E, Policy, Dense>> = Dense;
template <class Id, class E>
inline constexpr bool lies_dense<Bound<Id, E>> = lies_dense<E>;
template <class Op, class E>
  requires(Op::kind == step_kind::transpose)
inline constexpr bool lies_dense<Node<Op, E>> = false;
template <int Axis, class E>
inline constexpr bool lies_dense<Node<expand_op<Axis>, E>> = lies_dense<E>;
template <int Axis, class E>
inline constexpr bool lies_dense<Node<at_op<Axis>, E>> = Axis == 0 && lies_dense<E>;
template <axis_set Cut, std::int64_t... Static, class E>
inline constexpr bool lies_dense<Node<slice_op<Cut, Static...>, E>> = Cut == 1 && lies_dense<E>;
template <axis_set Cut, class E>
inline constexpr bool lies_dense<Node<strided_op<Cut>, E>> = false;
template <int DeviceCode, bool Strict, class E>
inline constexpr bool lies_dense<Node<on_op<DeviceCode, Strict>, E>> = lies_dense<E>;
template <int DeviceCode, bool Strict, class E>
inline constexpr bool lies_dense<Node<on_open_op<DeviceCode, Strict>, E>> = lies_dense<E>;

inline namespace LOCUS_MODE {
/// means: the operand of a call; one with gaps is copied to row order first
template <class X>
constexpr auto call_operand(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  if constexpr (lies_dense<decltype(operand)>)
    return operand;
  else
    return make_node(map_op<identity_fn>{}, std::move(operand));
}
}  // namespace LOCUS_MODE

template <class Op, class... Xs>
consteval bool call_takes() {
  constexpr bool all =
      sizeof...(Xs) == std::size_t(Op::rule.operands.count) && (tensor_operand<Xs> && ... && true);
  static_assert(all,
                "locus: call takes as many tensors as the rule of its operation has operands; make "
                "numbers members of the operation");
  return all;
}

/// means: the call inside an expression: under a let's name, inside on<Device>, or the call itself
template <class E>
struct called_expression {};
template <class Op, class... Es>
struct called_expression<Node<call_op<Op>, Es...>> {
  static constexpr int results = Op::rule.results.count;
  template <int K>
  using type = call_result_t<Op, K, typename Es::value_type...>;
  template <int K>
  static constexpr shape pattern = call_pattern<Op>(K, Es::pattern...);
};
template <class Id, class E>
struct called_expression<Bound<Id, E>> : called_expression<E> {};
template <int DeviceCode, bool Strict, class E>
struct called_expression<Node<on_op<DeviceCode, Strict>, E>> : called_expression<E> {};
template <int DeviceCode, bool Strict, class E>
struct called_expression<Node<on_open_op<DeviceCode, Strict>, E>> : called_expression<E> {};

}  // namespace detail

namespace internal {
template <class Op, class... Es>
inline constexpr bool has_several_results<Node<call_op<Op>, Es...>> = (Op::rule.results.count > 1);
template <class Id, class E>
inline constexpr bool has_several_results<Bound<Id, E>> = has_several_results<E>;
}  // namespace internal

/// means: the K-th result of call E; it adds no step
template <int K, class E>
struct call_result_op {
  static constexpr int steps = 0, edges = 0;
  template <class>
  using result = typename detail::called_expression<E>::template type<K>;
  template <class>
  using entries = type_list<>;
  static constexpr shape infer(shape const&) {
    return detail::called_expression<E>::template pattern<K>;
  }
  template <class>
  static constexpr short emit_steps(builder&, request, short const* operands) {
    return static_cast<short>(operands[0] + K);
  }
};

inline namespace LOCUS_MODE {

/// means: the K-th result of a call, whose kernel runs once for all results that one plan reads
template <int K, tensor_operand X>
constexpr auto result(X&& call) {
  using E = std::remove_cvref_t<X>;
  constexpr bool is_there =
      requires { requires K >= 0 && K < detail::called_expression<E>::results; };
  static_assert(is_there,
                "locus: result<K> names a result that is not there; its operand is a call, whose "
                "results count from 0");
  if constexpr (is_there) return make_node(call_result_op<K, E>{}, E(std::forward<X>(call)));
}

/// means: r = the result of op's kernel for these operands. A call with several results is one
///        value, named by op's type as if by let: auto [y, winners] = call(op, x), or result<0>(c).
///        For two such calls of different operands in one plan, write call_as<"name">(op, x...)
/// shape: op.infer(0, shapes...)
/// device: by role: `rows` are sharded with the batch; `terms` are partial, and the reader that
///         needs the sum adds them over replicas. GPUs run it where op has element(), team() or
///         card()
/// cost:  one launch, or the launches of team() and card(); it fuses with no other step; an operand
///        with gaps is copied first
/// fails: for shapes that do not fit: at compile time, or when they are bound
template <class Op, operand... Xs>
constexpr auto call(Op op, Xs&&... xs) {
  if constexpr (detail::call_takes<Op, Xs...>()) {
    auto node = internal::checked_node<Op>(call_op<Op>{std::move(op)},
                                           detail::call_operand(std::forward<Xs>(xs))...);
    using E = decltype(node);
    if constexpr (Op::rule.results.count > 1)
      return Bound<Op, E>{shared<E>::make(std::move(node))};
    else
      return node;
  }
}
template <fixed_string Name, class Op, operand... Xs>
constexpr auto call_as(Op op, Xs&&... xs) {
  if constexpr (detail::call_takes<Op, Xs...>())
    return named<Name>(internal::checked_node<Op>(call_op<Op>{std::move(op)},
                                                  detail::call_operand(std::forward<Xs>(xs))...));
}

/// auto [first, second] = call(op, x...)
template <std::size_t K, class Id, class E>
  requires requires { detail::called_expression<E>::results; }
constexpr auto get(Bound<Id, E> const& call) {
  return result<int(K)>(call);
}

}  // namespace LOCUS_MODE
}  // namespace locus

template <class Id, class E>
  requires requires { locus::detail::called_expression<E>::results; }
struct std::tuple_size<locus::Bound<Id, E>>
    : std::integral_constant<std::size_t,
                             std::size_t(locus::detail::called_expression<E>::results)> {};
template <std::size_t K, class Id, class E>
  requires requires { locus::detail::called_expression<E>::results; }
struct std::tuple_element<K, locus::Bound<Id, E>> {
  using type = decltype(locus::result<int(K)>(std::declval<locus::Bound<Id, E> const&>()));
};
