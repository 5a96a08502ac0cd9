// SPDX-License-Identifier: Apache-2.0
// take<Axis>(x, i): rows of a tensor, chosen by their numbers. A program includes this header by
// name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/row_gradients.hpp>  // the derivative
#include <locus/algorithms/take_op.hpp>        // take_op
#include <locus/core/macros.hpp>               // LOCUS_MODE
#include <locus/ops/call.hpp>                  // call

namespace locus {
inline namespace LOCUS_MODE {

/// means: r[a..., j..., b...] = x[a..., i[j...], b...]; take(x, i): rows along axis 0
/// shape: that of x with the extents of i in place of Axis; i has any rank
/// device: x whole: as i, which may be in pieces along axis 0. x in pieces along Axis: each replica
///         has its own rows, and their sum over replicas is the result; so -0.0 becomes 0.0. x in
///         pieces along another axis: as x, without traffic. Pieces of i are gathered where x is in
///         pieces
/// cost:  one launch; no fusion with its readers. Its gradient by x: a sort of i, one pass over g
/// fails: at compile time, for an axis outside the rank, or for i that are not integers. For an
///        index outside 0 ... extent - 1: on the host and on simulated GPUs, shape_error that names
///        index, place and extent; on cards, a kernel cannot stop the program: the row is NaN, or 0
///        where elements have no NaN, and nothing beyond x is read
/// after: NumPy's take and TensorFlow's gather; negative indices do not count from the end
template <int Axis = 0, tensor_operand X, tensor_operand Rows>
constexpr auto take(X&& x, Rows&& i) {
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank,
                 has_indices = is_integer_v<element_of_t<Rows>>;
  static_assert(has_axis,
                "locus: take names an axis that its operand does not have; axes count from 0, or "
                "from -1 backwards");
  static_assert(has_indices, "locus: take reads integer indices; write take(x, cast<int>(i))");
  if constexpr (has_axis && has_indices)
    return call(algorithms::take_op<axis, expression_of_t<Rows>::pattern.rank>{},
                std::forward<X>(x), std::forward<Rows>(i));
}

}  // namespace LOCUS_MODE
}  // namespace locus
