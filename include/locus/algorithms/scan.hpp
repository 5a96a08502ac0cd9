// SPDX-License-Identifier: Apache-2.0
// cumsum, cumprod, cummax, cummin: scans along an axis. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/scan_op.hpp>  // scan_op
#include <locus/core/macros.hpp>         // LOCUS_MODE
#include <locus/grad/adjoint.hpp>        // reads_replicas
#include <locus/grad/stop_gradient.hpp>  // stop_gradient
#include <locus/ops/arithmetic.hpp>      // *, /
#include <locus/ops/call.hpp>            // call
#include <locus/plan/plan.hpp>           // device_of

namespace locus {

/// Element j is no part of result j: the first result is 0, 1, -infinity or infinity.
struct exclusive_t {};
inline constexpr exclusive_t exclusive{};
/// The scan begins at the end of the axis.
struct from_end_t {};
inline constexpr from_end_t from_end{};

namespace algorithms {
inline namespace LOCUS_MODE {

/// means: x lies in pieces along Axis
template <int Axis, class E>
consteval bool is_cut_along() {
  if constexpr (internal::reads_replicas<E>)
    return device_of<E>.is_sharded() && device_of<E>.axis == Axis;
  else
    return false;
}
/// means: the devices that the pieces of x lie on
template <class E>
inline constexpr per_rank devices_of_pieces = devices_per_rank(device_of<E>);

template <scan_kind K, int Axis, bool Exclusive, bool Backwards, class X>
constexpr auto scan_of(X&& x) {
  using E = expression_of_t<X>;
  constexpr int rank = E::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  using T = typename E::value_type;
  constexpr bool has_numbers = scan_fold<K, int>::adds || is_floating_v<T> || is_integer_v<T>;
  static_assert(has_axis,
                "locus: a scan names an axis that its operand does not have; axes count from 0, or "
                "from -1 backwards");
  static_assert(
      has_numbers,
      "locus: cummax and cummin take numbers with an order; write cummax<0>(cast<int>(x)) "
      "for booleans, and cummax<0>(abs(x)) or cummax<0>(real(x)) for complex numbers");
  if constexpr (has_axis && has_numbers) {
    if constexpr (is_cut_along<axis, E>()) {
      auto pieces = as_operand<void>(std::forward<X>(x));
      auto totals = stop_gradient(call(piece_totals_op<K, axis, devices_of_pieces<E>>{}, pieces));
      return call(scan_of_pieces_op<K, axis, Exclusive, Backwards>{}, std::move(pieces),
                  std::move(totals));
    } else
      return call(scan_op<K, axis, Exclusive, Backwards>{}, std::forward<X>(x));
  }
}
/// the adjoint of x, given that of its scan
template <scan_kind K, int Axis, bool Exclusive, bool Backwards, class G, class Y, class X>
constexpr auto scan_pullback(G const& g, Y const& y, X const& x) {
  if constexpr (K == scan_kind::sum)
    return scan_of<K, Axis, Exclusive, !Backwards>(g);
  else
    return scan_of<scan_kind::sum, Axis, Exclusive, !Backwards>(g * y) / x;
}

}  // namespace LOCUS_MODE

template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
template <class G, class Y, class X>
  requires(K == scan_kind::sum || K == scan_kind::product)
constexpr auto scan_op<K, Axis, Exclusive, Backwards>::pullback(G const& g, Y const& y,
                                                                X const& x) {
  return scan_pullback<K, Axis, Exclusive, Backwards>(g, y, x);
}
template <scan_kind K, int Axis, bool Exclusive, bool Backwards>
template <class G, class Y, class X, class Totals>
  requires(K == scan_kind::sum || K == scan_kind::product)
constexpr auto scan_of_pieces_op<K, Axis, Exclusive, Backwards>::pullback(G const& g, Y const& y,
                                                                          X const& x,
                                                                          Totals const&) {
  return scan_pullback<K, Axis, Exclusive, Backwards>(g, y, x);
}

}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[a..., j, b...] = the sum of x[a..., 0, b...] to x[a..., j, b...], a: Axis axes.
///        cumsum<0>(x, exclusive): without element j; cumsum<0>(x, from_end): of element j to the
///        last; both: cumsum<0>(x, exclusive, from_end)
/// shape: that of x     units: int64 for integers and booleans
/// device: as x. Along a cut each replica folds its piece, the totals of a line, one for each replica
///         (8 in one process), travel in an all-reduce, and each replica scans from those in front of it
/// cost:  one step, two and an all-reduce along a cut, where a computed x is computed for each of
///        them: bind such an x with let; no fusion. The host reads x once on one
///        thread and twice on several; a GPU twice
/// fails: at compile time, for an axis outside the rank
/// after: NumPy's cumsum, TensorFlow's exclusive and reverse. Floats are added in double, in chunks
///        whose length depends on that of the line: the same bits on host and cards, for any number
///        of threads; a cut changes them. The derivative is the scan from the other end
template <int Axis, tensor_operand X>
constexpr auto cumsum(X&& x) {
  return algorithms::scan_of<algorithms::scan_kind::sum, Axis, false, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumsum(X&& x, exclusive_t) {
  return algorithms::scan_of<algorithms::scan_kind::sum, Axis, true, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumsum(X&& x, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::sum, Axis, false, true>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumsum(X&& x, exclusive_t, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::sum, Axis, true, true>(std::forward<X>(x));
}
/// means: the same of products; its derivative divides by x, so it is NaN where x is 0
template <int Axis, tensor_operand X>
constexpr auto cumprod(X&& x) {
  return algorithms::scan_of<algorithms::scan_kind::product, Axis, false, false>(
      std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumprod(X&& x, exclusive_t) {
  return algorithms::scan_of<algorithms::scan_kind::product, Axis, true, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumprod(X&& x, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::product, Axis, false, true>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cumprod(X&& x, exclusive_t, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::product, Axis, true, true>(std::forward<X>(x));
}
/// means: the same of maxima and minima; NaN from the first NaN on; no derivative
/// shape: that of x, and its element type
/// fails: at compile time, for an axis outside the rank, booleans and complex numbers
template <int Axis, tensor_operand X>
constexpr auto cummax(X&& x) {
  return algorithms::scan_of<algorithms::scan_kind::max, Axis, false, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummax(X&& x, exclusive_t) {
  return algorithms::scan_of<algorithms::scan_kind::max, Axis, true, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummax(X&& x, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::max, Axis, false, true>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummax(X&& x, exclusive_t, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::max, Axis, true, true>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummin(X&& x) {
  return algorithms::scan_of<algorithms::scan_kind::min, Axis, false, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummin(X&& x, exclusive_t) {
  return algorithms::scan_of<algorithms::scan_kind::min, Axis, true, false>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummin(X&& x, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::min, Axis, false, true>(std::forward<X>(x));
}
template <int Axis, tensor_operand X>
constexpr auto cummin(X&& x, exclusive_t, from_end_t) {
  return algorithms::scan_of<algorithms::scan_kind::min, Axis, true, true>(std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
