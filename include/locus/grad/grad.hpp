// SPDX-License-Identifier: Apache-2.0
// grad(loss, w...): derivatives as expressions; plans place, fuse and distribute them.
#pragma once
#include <utility>  // forward

#include <locus/grad/backward.hpp>   // collect
#include <locus/grad/gradients.hpp>  // gradients
#include <locus/grad/targets.hpp>    // require_target
#include <locus/tensor/tensor.hpp>   // Tensor

namespace locus {

namespace detail {

template <class Loss>
consteval bool require_floating_loss() {
  constexpr bool holds = is_floating_v<typename Loss::value_type>;
  static_assert(
      holds,
      "locus: a loss without gradient: its elements are integers, booleans or complex numbers; "
      "compute it from floats, as in cast<float>(x)");
  return holds;
}
template <class Loss>
consteval bool require_loss() {
  constexpr bool holds = Loss::pattern.rank == 0;
  static_assert(holds, "locus: a gradient is that of one number and this loss has axes; write "
                       "grad(sum(loss), w), grad(mean(loss), w) or grad_with(loss, upstream, w)");
  return holds && require_floating_loss<Loss>();
}
/// means: an adjoint of pattern g broadcasts to a value of pattern y
constexpr bool may_be_adjoint(shape const& g, shape const& y) {
  if (g.rank > y.rank) return false;
  for (int i = 0; i < g.rank; ++i) {
    auto const n = g.from_right(i), m = y.from_right(i);
    if (n != m && n != 1 && n != dyn && m != dyn) return false;
  }
  return true;
}
template <class E, class Upstream>
consteval bool require_upstream() {
  constexpr bool holds = std::is_same_v<typename E::value_type, typename Upstream::value_type> &&
                         may_be_adjoint(Upstream::pattern, E::pattern);
  static_assert(holds,
                "locus: an upstream gradient has the element type of the value that it belongs "
                "to, and its extents or extents that stretch to them; write cast<float>(g), or "
                "give it the value's extents");
  return holds;
}

/// means: the type of a target in the rewritten loss
template <class W, class Lets, class Table>
struct target_in {
  using type = W;
};
template <class Id, class E, class Lets, class Table>
struct target_in<Bound<Id, E>, Lets, Table> {
  using type = at_t<index_in<Bound<Id, E>>(Lets{}), Table>;
};

inline namespace LOCUS_MODE {

template <int To, class All, class W>
constexpr auto gradient_of_target(All const& all, W const& w) {
  return filled(total_of<To>(all), w);
}
template <bool WithValue, class Value, class All, class... Ws, std::size_t... K>
constexpr auto as_results(Value const& value, All const& all, std::index_sequence<K...>,
                          Ws const&... w) {
  if constexpr (WithValue)
    return gradients<Value, decltype(gradient_of_target<int(K)>(all, w))...>{
        {{value}, {gradient_of_target<int(K)>(all, w)}...}};
  else if constexpr (sizeof...(Ws) == 1)
    return gradient_of_target<0>(all, w...);
  else
    return gradients<decltype(gradient_of_target<int(K)>(all, w))...>{
        {{gradient_of_target<int(K)>(all, w)}...}};
}

/// means: the gradients of the expression `loss` by leaves and names w; g: the adjoint of the loss
template <bool WithValue, class Loss, class G, class... Ws>
constexpr auto gradients_by(Loss const& loss, G const& g, Ws const&... w) {
  if constexpr ((require_target<Loss, Ws>() && ...)) {
    (require_same_target(loss, w), ...);
    using facts = loss_facts<Loss, type_list<Ws...>>;
    auto const table = rewritten_lets<facts>(loss, let_table<>{});
    using lets = typename decltype(table)::types;
    auto const value = rewritten<facts, 0, 0, false, false>(table, loss);
    using way = tape<typename facts::owner,
                     type_list<typename target_in<Ws, typename facts::lets, lets>::type...>, lets>;
    auto const all =
        collect_lets<way, lets::size - 1>(collect<way, 0, 0>(contributions<>{}, value, g), table);
    return as_results<WithValue>(value, all, std::index_sequence_for<Ws...>{}, w...);
  }
}
template <bool WithValue, class Loss, class G, class... Ws>
constexpr auto gradients_of(Loss const& loss, G const& g, Ws const&... w) {
  return gradients_by<WithValue>(loss, g, as_read_by<Loss>(w)...);
}
template <bool WithValue, class Loss, class... Ws>
constexpr auto gradients_of_loss(Loss const& loss, Ws const&... w) {
  if constexpr (require_loss<Loss>())
    return gradients_of<WithValue>(loss, Scalar<typename Loss::value_type>{1}, w...);
}
template <class E, class G>
constexpr auto checked_upstream(E const& e, G const& g) {
  if constexpr (!E::pattern.is_static() || !G::pattern.is_static()) {
    shape const is = shape_now(g), of = shape_now(e);
    for (int i = 0; i < is.rank; ++i)
      if (is.from_right(i) != of.from_right(i) && G::pattern.from_right(i) != 1) {
        message text;
        throw shape_error(text << "locus: an upstream gradient of extents " << is
                               << " is given for a value of extents " << of
                               << "; give it the value's extents");
      }
  }
  return g;
}

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: d loss / d w, for each w: a tensor that the loss reads once, or a name (let, named) that
///        the loss may read many times; several come as gradients: auto [g1, g2] = grad(loss, w1,
///        w2)
/// shape: that of w     device: the plan's; for mirrored w and a sharded batch, a partial sum
/// cost:  nothing runs. Gradients and the value of value_and_grad in one plan share their common
///        expressions
/// fails: at compile time, for an operation without a gradient, and for a tensor if the loss
///        reads several of its type; placement_error, shape_error, where only run time shows the
///        mistake
/// after: reverse mode: Griewank and Walther, Evaluating Derivatives, 2008
template <tensor_operand Loss, tensor_operand... Ws>
  requires(sizeof...(Ws) > 0)
constexpr auto grad(Loss&& loss, Ws&&... w) {
  return detail::gradients_of_loss<false>(as_operand<void>(std::forward<Loss>(loss)),
                                          as_operand<void>(std::forward<Ws>(w))...);
}
/// means: auto [loss, g1, g2] = value_and_grad(loss, w1, w2): one plan of them computes the loss
///        once
template <tensor_operand Loss, tensor_operand... Ws>
  requires(sizeof...(Ws) > 0)
constexpr auto value_and_grad(Loss&& loss, Ws&&... w) {
  return detail::gradients_of_loss<true>(as_operand<void>(std::forward<Loss>(loss)),
                                         as_operand<void>(std::forward<Ws>(w))...);
}
/// means: the gradients of sum(upstream * e): the backward pass of a layer, given its output's
///        adjoint
template <tensor_operand E, operand Upstream, tensor_operand... Ws>
  requires(sizeof...(Ws) > 0)
constexpr auto grad_with(E&& e, Upstream&& upstream, Ws&&... w) {
  auto const value = as_operand<void>(std::forward<E>(e));
  using V = std::remove_const_t<decltype(value)>;
  if constexpr (detail::require_floating_loss<V>()) {
    auto const g = as_operand<typename V::value_type>(std::forward<Upstream>(upstream));
    if constexpr (detail::require_upstream<V, std::remove_const_t<decltype(g)>>())
      return detail::gradients_of<false>(value, detail::checked_upstream(value, g),
                                         as_operand<void>(std::forward<Ws>(w))...);
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
