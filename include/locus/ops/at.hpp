// SPDX-License-Identifier: Apache-2.0
// at, row_at, column_at: the part of an array at one index of an axis, as an array with one axis less.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/ops/views.hpp>        // at_op, as_whole
#include <locus/shape/bad_index.hpp>  // refuse_index

namespace locus {

namespace internal {

/// means: true: the axis exists
template <int Axis, int Rank>
consteval bool require_axis_of_at() {
  static_assert(
      Axis >= -Rank && Axis < Rank,
      "locus: at names an axis that its operand does not have; axes count from 0, or from "
      "-1 backwards");
  return Axis >= -Rank && Axis < Rank;
}

}  // namespace internal

inline namespace LOCUS_MODE {

/// means: r[i..., k...] = x[i..., index, k...]: x at that index of axis Axis; at<-1>(x, -1): at the last
///        index of the last axis
/// shape: that of x without the axis
/// device: pieces along another axis stay pieces; the axis of the cut is an error
/// cost:  none: a part of the same memory; a reshape copies it, and so does a call, unless Axis is 0.
///        Of a generator, all of it is computed and stored first
/// fails: shape_error, for an index outside the axis: here where the type knows its extent, else at
///        binding
/// after: NumPy's x[:, index]
template <int Axis, tensor_operand X>
constexpr auto at(X&& x, std::int64_t index) {
  auto operand = internal::as_whole(std::forward<X>(x));
  constexpr shape pattern = decltype(operand)::pattern;
  if constexpr (internal::require_axis_of_at<Axis, pattern.rank>()) {
    constexpr int axis = Axis < 0 ? Axis + pattern.rank : Axis;
    if constexpr (pattern.extent[axis] != dyn)
      if (range::element(index).length(pattern.extent[axis]) != 1)
        internal::refuse_index(axis, index, pattern);
    return make_node(at_op<axis>{index}, std::move(operand));
  }
}

/// means: r[j] = x[i, j], of a matrix; row_at(x, i) = e writes it
/// shape: that of a row     device, cost, fails: as at<0>
template <tensor_operand X>
constexpr auto row_at(X&& x, std::int64_t i) {
  constexpr bool is_matrix = expression_of_t<X>::pattern.rank == 2;
  static_assert(is_matrix, "locus: row_at takes a matrix; write at<0>(x, i) for another array");
  if constexpr (is_matrix) return at<0>(std::forward<X>(x), i);
}
/// means: r[i] = x[i, j], of a matrix; column_at(x, j) = e writes it
/// shape: that of a column     device, cost, fails: as at<1>
template <tensor_operand X>
constexpr auto column_at(X&& x, std::int64_t j) {
  constexpr bool is_matrix = expression_of_t<X>::pattern.rank == 2;
  static_assert(is_matrix, "locus: column_at takes a matrix; write at<1>(x, j) for another array");
  if constexpr (is_matrix) return at<1>(std::forward<X>(x), j);
}

}  // namespace LOCUS_MODE

}  // namespace locus
