// SPDX-License-Identifier: Apache-2.0
// sort, argsort: lines along an axis in rising order. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/sort_op.hpp>  // sort_op
#include <locus/core/macros.hpp>         // LOCUS_MODE
#include <locus/ops/call.hpp>            // call

namespace locus {

namespace algorithms {
inline namespace LOCUS_MODE {

template <sort_result Result, int Axis, class X>
constexpr auto sorted_lines(X&& x) {
  using T = element_of_t<X>;
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  constexpr bool has_numbers = is_floating_v<T> || is_integer_v<T>;
  static_assert(has_axis,
                "locus: a sort names an axis that its operand does not have; axes count from 0, or "
                "from -1 backwards");
  static_assert(has_numbers, "locus: sort and argsort take numbers with an order; write "
                             "sort<0>(cast<int>(x)) for booleans, and "
                             "sort<0>(abs(x)) or sort<0>(real(x)) for complex numbers");
  if constexpr (has_axis && has_numbers) return call(sort_op<Result, axis>{}, std::forward<X>(x));
}

}  // namespace LOCUS_MODE

template <sort_result Result, int Axis>
template <class G, class Y, class X>
  requires(Result == sort_result::values)
constexpr auto sort_op<Result, Axis>::pullback(G const& g, Y const&, X const& x) {
  return call(put_back_op<Axis>{}, g, call(sort_op<sort_result::places, Axis>{}, x));
}

}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[a..., ., b...] = the elements of x[a..., ., b...] in rising order, a: Axis axes; -0.0
///        before 0.0, every NaN last, as one quiet NaN
/// shape: that of x, and its element type
/// device: as x, which is whole, or in pieces along another axis; pieces along Axis do not compile:
///         a sort along the cut moves every element
/// cost:  one step; no fusion. The host sorts by digits, in memory for two lines for each thread; a
///        GPU sorts all elements, then their line numbers. The gradient sorts once more
/// fails: at compile time, for an axis outside the rank, or pieces along it; on a GPU shape_error
///        for 2^31 - 1 elements or more
/// after: NumPy's sort; the derivative moves the adjoint back to the places
template <int Axis, tensor_operand X>
constexpr auto sort(X&& x) {
  return algorithms::sorted_lines<algorithms::sort_result::values, Axis>(std::forward<X>(x));
}
/// means: the places in x of the elements of sort<Axis>(x), along Axis; equal elements keep their
///        order
/// shape: that of x     units: int64     device, cost, fails: as sort; no derivative
/// after: NumPy's argsort, stable
template <int Axis, tensor_operand X>
constexpr auto argsort(X&& x) {
  return algorithms::sorted_lines<algorithms::sort_result::places, Axis>(std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
