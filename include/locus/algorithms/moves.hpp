// SPDX-License-Identifier: Apache-2.0
// Elements at other places: roll, flip, pad, diagonal. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/moves_op.hpp>  // move_op, pad_op, diagonal_op
#include <locus/core/error.hpp>           // shape_error
#include <locus/core/macros.hpp>          // LOCUS_MODE
#include <locus/expr/operand.hpp>         // tensor_operand, number, number_fits_v, checked_number
#include <locus/ops/call.hpp>             // call

namespace locus {

namespace algorithms {
inline namespace LOCUS_MODE {

template <bool Flips, int Axis, class X>
constexpr auto moved(X&& x, std::int64_t by) {
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  static_assert(has_axis, "locus: roll or flip names an axis that its operand does not have; axes "
                          "count from 0, or from -1 backwards");
  if constexpr (has_axis) return call(move_op<Flips, axis>{by}, std::forward<X>(x));
}

}  // namespace LOCUS_MODE

[[noreturn]] inline void refuse_margin(std::int64_t width) {
  message text;
  throw shape_error(text << "locus: pad adds " << width
                         << " elements to an end of an axis; give numbers from 0 on");
}

inline namespace LOCUS_MODE {

template <int Axis, std::int64_t Before, std::int64_t After, class X, class N>
constexpr auto padded(X&& x, std::int64_t before, std::int64_t after, N value) {
  using E = expression_of_t<X>;
  constexpr int rank = E::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  static_assert(has_axis,
                "locus: pad names an axis that its operand does not have; axes count from "
                "0, or from -1 backwards");
  using element = typename E::value_type;
  constexpr bool has_number = number_fits_v<N, element>;
  static_assert(has_number,
                "locus: pad adds a number of the elements' kind; write cast, or a number of that "
                "type");
  if constexpr (has_axis && has_number) {
    if (before < 0 || after < 0) refuse_margin(before < 0 ? before : after);
    auto const added = internal::checked_number<element>(value);
    return call(pad_op<element, axis, Before, After>{before, after, added}, std::forward<X>(x));
  }
}

}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[a..., j, b...] = x[a..., (j - by) mod n, b...], n: the extent of Axis, a: Axis axes
/// shape: that of x
/// device: as x, which is whole, or in pieces along another axis; pieces along Axis do not compile:
///         each element would move
/// cost:  one step; no fusion
/// fails: at compile time, for an axis outside the rank, or pieces along it
/// after: NumPy's roll; the derivative rolls the adjoint back
template <int Axis, tensor_operand X>
constexpr auto roll(X&& x, std::int64_t by) {
  return algorithms::moved<false, Axis>(std::forward<X>(x), by);
}
/// means: r[a..., j, b...] = x[a..., n - 1 - j, b...]
/// shape, device, cost, fails: as roll     after: NumPy's flip; the derivative flips the adjoint
template <int Axis, tensor_operand X>
constexpr auto flip(X&& x) {
  return algorithms::moved<true, Axis>(std::forward<X>(x), 0);
}

/// means: x with `before` elements in front of it along Axis and `after` behind it, all of them
///        value; pad<0, 1, 1>(x) for numbers that the compiler knows
/// shape: that of x, with `before + after` elements more along Axis; static with pad<0, 1, 1>(x)
/// device, cost: as roll; several axes are several steps
/// fails: at compile time, for an axis outside the rank, pieces along it, or a value of another kind;
///        shape_error for numbers below 0, and for a value that the element type cannot hold
/// after: NumPy's pad of constants; its other modes are concatenate of slices, roll and flip
template <int Axis, tensor_operand X, number N = element_of_t<X>>
constexpr auto pad(X&& x, std::int64_t before, std::int64_t after, N value = N(0)) {
  return algorithms::padded<Axis, dyn, dyn>(std::forward<X>(x), before, after, value);
}
template <int Axis, std::int64_t Before, std::int64_t After, tensor_operand X,
          number N = element_of_t<X>>
constexpr auto pad(X&& x, N value = N(0)) {
  static_assert(Before >= 0 && After >= 0,
                "locus: pad adds a negative number of elements; write slice<0, 1, -1>(x) to leave "
                "elements out");
  if constexpr (Before >= 0 && After >= 0)
    return algorithms::padded<Axis, Before, After>(std::forward<X>(x), Before, After, value);
}

/// means: r[i] = x[i, i + Diagonal], or x[i - Diagonal, i] for a Diagonal below 0
/// shape: one axis; x has two. Static extents stay static
/// device: x whole; pieces do not compile
/// cost:  one step; no fusion
/// fails: at compile time, for an x of another rank, or in pieces
/// after: NumPy's diagonal; the derivative is 0 beside the diagonal
template <int Diagonal = 0, tensor_operand X>
constexpr auto diagonal(X&& x) {
  constexpr bool is_matrix = expression_of_t<X>::pattern.rank == 2;
  static_assert(is_matrix,
                "locus: diagonal reads a matrix; write reshape<3, 3>(x), or sum over the "
                "other axes");
  if constexpr (is_matrix) return call(algorithms::diagonal_op<Diagonal>{}, std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
