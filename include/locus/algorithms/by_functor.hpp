// SPDX-License-Identifier: Apache-2.0
// scan, reduce: lines along an axis folded by a functor of the program. A program includes this header by
// name; <locus/locus.hpp> does not.
#pragma once
#include <type_traits>  // is_invocable_r
#include <utility>      // forward, move

#include <locus/algorithms/functor_op.hpp>         // scan_by_op, reduce_by_op
#include <locus/algorithms/functor_pieces_op.hpp>  // scan_of_pieces_by_op
#include <locus/algorithms/scan.hpp>               // exclusive, is_cut_along
#include <locus/core/macros.hpp>                   // LOCUS_MODE
#include <locus/expr/operand.hpp>                  // tensor_operand, number

namespace locus {

namespace algorithms {
template <int Axis, class X, class F, class N>
consteval bool folds_lines() {
  using T = element_of_t<X>;
  using C = compute_t<T>;
  constexpr int rank = expression_of_t<X>::pattern.rank;
  constexpr bool has_axis = Axis >= -rank && Axis < rank;
  constexpr bool has_functor = std::is_invocable_r_v<C, F const&, C, C>;
  static_assert(
      has_axis,
      "locus: scan or reduce names an axis that its operand does not have; axes count from "
      "0, or from -1 backwards");
  static_assert(
      has_functor,
      "locus: scan and reduce fold by an f(a, b) of two elements that gives an element; it "
      "is called with floats for halves");
  constexpr bool has_number = std::is_void_v<N> || number_fits_v<N, T>;
  static_assert(has_number,
                "locus: a fold begins with a number of the elements' kind; write cast, or a "
                "number of that type");
  return has_axis && has_functor && has_number;
}
inline namespace LOCUS_MODE {
template <int Axis, bool Exclusive, bool HasInitial, class X, class F, class T>
constexpr auto scan_by(X&& x, F f, T initial) {
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  using E = element_of_t<X>;
  auto const first = internal::checked_number<compute_t<E>>(initial);
  if constexpr (is_cut_along<axis, expression_of_t<X>>()) {
    constexpr per_rank list = devices_of_pieces<expression_of_t<X>>;
    auto pieces = as_operand<void>(std::forward<X>(x));
    auto const totals = call(totals_by_op<axis, F, E, list>{{f, compute_t<E>(0)}}, pieces);
    using op = scan_of_pieces_by_op<axis, F, E, Exclusive, HasInitial>;
    return call(op{{std::move(f), first}}, std::move(pieces), totals);
  } else {
    using op = scan_by_op<axis, F, E, Exclusive, HasInitial>;
    return call(op{{std::move(f), first}}, std::forward<X>(x));
  }
}
}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[a..., j, b...] = f(... f(x[a..., 0, b...], x[a..., 1, b...]) ..., x[a..., j, b...]), a:
///        Axis axes. scan<0>(x, f, initial): each line begins with initial; scan<0>(x, f, initial,
///        exclusive): without element j
/// shape: that of x, and its element type; f gets floats for halves
/// device: as x, which is whole or in pieces; a GPU where f has a kernel for it: a struct with
///         LOCUS_OPERATION, or host_device(f). Along a cut the totals of the pieces travel in an
///         all-reduce (so -0.0 becomes 0.0), and each replica goes on from those in front
/// cost:  one launch, two and an all-reduce along a cut, where a computed x is computed for each of
///        them; no fusion. The host reads x once on one thread and twice on several, a GPU twice
/// fails: at compile time, for an axis outside the rank, or an f of other arguments; no derivative
/// units: f is associative: a line is folded in chunks whose length depends on that of the line, so the
///        bits are the same on host and cards, for any number of threads; a cut changes them
/// after: std::inclusive_scan, std::exclusive_scan
template <int Axis, tensor_operand X, class F>
  requires(!operand<F>)
constexpr auto scan(X&& x, F f) {
  if constexpr (algorithms::folds_lines<Axis, X, F, void>())
    return algorithms::scan_by<Axis, false, false>(std::forward<X>(x), std::move(f),
                                                   element_of_t<X>(0));
}
template <int Axis, tensor_operand X, class F, number N>
  requires(!operand<F>)
constexpr auto scan(X&& x, F f, N initial) {
  if constexpr (algorithms::folds_lines<Axis, X, F, N>())
    return algorithms::scan_by<Axis, false, true>(std::forward<X>(x), std::move(f), initial);
}
template <int Axis, tensor_operand X, class F, number N>
  requires(!operand<F>)
constexpr auto scan(X&& x, F f, N initial, exclusive_t) {
  if constexpr (algorithms::folds_lines<Axis, X, F, N>())
    return algorithms::scan_by<Axis, true, true>(std::forward<X>(x), std::move(f), initial);
}

/// means: r[a..., b...] = f(... f(f(initial, x[a..., 0, b...]), x[a..., 1, b...]) ..., x[a..., n - 1,
///        b...]); initial, where the line has no element
/// shape: that of x without Axis     device, cost, fails, units: as scan; along a cut each replica has the
///        whole result
/// after: std::reduce. <locus/thrust.hpp> has reduce(x, f, initial), outside of plans
template <int Axis, tensor_operand X, class F, number N>
  requires(!operand<F>)
constexpr auto reduce(X&& x, F f, N initial) {
  if constexpr (algorithms::folds_lines<Axis, X, F, N>()) {
    constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
    using T = element_of_t<X>;
    auto const first = internal::checked_number<compute_t<T>>(initial);
    if constexpr (algorithms::is_cut_along<axis, expression_of_t<X>>()) {
      constexpr auto list = algorithms::devices_of_pieces<expression_of_t<X>>;
      auto const totals = call(algorithms::totals_by_op<axis, F, T, list>{{f, compute_t<T>(0)}},
                               std::forward<X>(x));
      return call(algorithms::fold_of_totals_by_op<axis, F, T>{{std::move(f), first}}, totals);
    } else
      return call(algorithms::reduce_by_op<axis, F, T>{{std::move(f), first}}, std::forward<X>(x));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
