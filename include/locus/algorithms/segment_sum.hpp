// SPDX-License-Identifier: Apache-2.0
// segment_sum, segment_max, segment_min: folds of the rows that have one number; scatter_add. A
// program includes this header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/row_gradients.hpp>  // the derivatives
#include <locus/algorithms/segments_op.hpp>    // segments_op
#include <locus/core/macros.hpp>               // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>            // +
#include <locus/ops/call.hpp>                  // call
#include <locus/ops/math.hpp>                  // cast

namespace locus {

namespace algorithms {
inline namespace LOCUS_MODE {
template <reduction R, int Axis, std::int64_t Segments, class X, class Ids>
constexpr auto segments_of(std::int64_t segments, X&& x, Ids&& ids) {
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank, has_ids = is_integer_v<element_of_t<Ids>>;
  using T = element_of_t<X>;
  constexpr bool is_ordered = R == reduction::sum || is_floating_v<T> || is_integer_v<T>;
  static_assert(has_axis,
                "locus: a fold of segments names an axis that its operand does not have; axes "
                "count from 0, or from -1 backwards");
  static_assert(has_ids, "locus: a fold of segments reads integer ids; write segment_sum<10>(x, "
                         "cast<int>(ids))");
  static_assert(
      is_ordered,
      "locus: segment_max and segment_min take numbers with an order; write "
      "segment_sum<10>(x, ids), which counts booleans, and segment_max<10>(abs(x), ids) or "
      "segment_max<10>(real(x), ids) for complex numbers");
  if constexpr (has_axis && has_ids && is_ordered) {
    segments_op<R, axis, expression_of_t<Ids>::pattern.rank, Segments> op;
    if constexpr (Segments == dyn) {
      if (segments < 0) refuse_segments(name_of_segments(R), segments);
      op.segments = segments;
    }
    return call(op, std::forward<X>(x), std::forward<Ids>(ids));
  }
}
template <reduction R, int Axis, std::int64_t Segments, class X, class Ids>
constexpr auto static_segments(X&& x, Ids&& ids) {
  static_assert(Segments >= 0,
                "locus: a fold has fewer than 0 segments; write segment_sum<10>(x, ids), or "
                "segment_sum(x, ids, n)");
  if constexpr (Segments >= 0)
    return segments_of<R, Axis, Segments>(Segments, std::forward<X>(x), std::forward<Ids>(ids));
}
}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[a..., s, b...] = the sum of x[a..., j..., b...] over the j with ids[j...] == s, ids in
///        any order; a: Axis axes, 0 without it. segment_sum<Segments>(x, ids), or
///        segment_sum(x, ids, segments) for a number that is known when the program runs
/// shape: that of x with one axis of Segments in place of the axes of ids
/// device: x in pieces along an axis of ids: each replica has a term of all segments; so it has where
///         ids are in pieces and x is whole, if Axis is 0. x in pieces along another axis: as x,
///         without traffic. Pieces of ids are gathered where x is not in such pieces
/// cost:  one launch on the host; on a GPU a sort of the ids, then a thread for each number of the
///        result and each part of the rows
/// fails: at compile time, for an axis outside the rank, or for ids that are not integers. For an id
///        outside 0 ... segments - 1: on the host and on simulated GPUs, shape_error that names id,
///        place and segments; cards leave the row out, as nothing beyond r may be written
/// units: int64 for integers and booleans; 0 for a segment without rows; derivative: take
/// after: TensorFlow's unsorted_segment_sum. Rows of a part are folded in their order, floats in
///        double, and then the parts (segment_part): the same bits on host and cards, for any number
///        of threads
template <std::int64_t Segments, int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_sum(X&& x, Ids&& ids) {
  return algorithms::static_segments<reduction::sum, Axis, Segments>(std::forward<X>(x),
                                                                     std::forward<Ids>(ids));
}
template <int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_sum(X&& x, Ids&& ids, std::int64_t segments) {
  return algorithms::segments_of<reduction::sum, Axis, dyn>(segments, std::forward<X>(x),
                                                            std::forward<Ids>(ids));
}

/// means: r[a..., s, b...] = the maximum (minimum) of x[a..., j..., b...] over the j with
///        ids[j...] == s; NaN if one of them is; for a segment without rows -infinity (infinity),
///        or the lowest (highest) integer
/// shape: that of x with one axis of Segments in place of the axes of ids
/// device, cost, fails: as segment_sum, and for booleans and complex numbers; its derivative: rows that are
///        the extremum share the adjoint
/// after: TensorFlow's unsorted_segment_max
template <std::int64_t Segments, int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_max(X&& x, Ids&& ids) {
  return algorithms::static_segments<reduction::max, Axis, Segments>(std::forward<X>(x),
                                                                     std::forward<Ids>(ids));
}
template <int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_max(X&& x, Ids&& ids, std::int64_t segments) {
  return algorithms::segments_of<reduction::max, Axis, dyn>(segments, std::forward<X>(x),
                                                            std::forward<Ids>(ids));
}
template <std::int64_t Segments, int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_min(X&& x, Ids&& ids) {
  return algorithms::static_segments<reduction::min, Axis, Segments>(std::forward<X>(x),
                                                                     std::forward<Ids>(ids));
}
template <int Axis = 0, tensor_operand X, tensor_operand Ids>
constexpr auto segment_min(X&& x, Ids&& ids, std::int64_t segments) {
  return algorithms::segments_of<reduction::min, Axis, dyn>(segments, std::forward<X>(x),
                                                            std::forward<Ids>(ids));
}

/// means: r = y, and r[a..., i[j...], b...] += v[a..., j..., b...]; rows of one number are added in
///        the order of segment_sum
/// shape: that of y     cost, fails: as segment_sum, whose result is added to y
template <int Axis = 0, tensor_operand Y, tensor_operand Rows, tensor_operand V>
constexpr auto scatter_add(Y&& y, Rows&& i, V&& v) {
  using E = expression_of_t<Y>;
  constexpr int rank = E::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  static_assert(has_axis,
                "locus: scatter_add names an axis that its operand does not have; axes count from "
                "0, or from -1 backwards");
  if constexpr (has_axis) {
    auto to = as_operand<void>(std::forward<Y>(y));
    constexpr std::int64_t rows = E::pattern.extent[axis];
    auto added = algorithms::segments_of<reduction::sum, axis, rows>(
        rows == dyn ? internal::shape_now(to).extent[axis] : rows, std::forward<V>(v),
        std::forward<Rows>(i));
    using T = typename E::value_type;
    if constexpr (std::is_same_v<typename decltype(added)::value_type, T>)
      return std::move(to) + std::move(added);
    else
      return std::move(to) + cast<T>(std::move(added));
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
