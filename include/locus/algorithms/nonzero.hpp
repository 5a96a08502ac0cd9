// SPDX-License-Identifier: Apache-2.0
// nonzero: the places of the elements that are not 0. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/nonzero_op.hpp>  // nonzero_op
#include <locus/algorithms/trim.hpp>        // trim
#include <locus/core/macros.hpp>            // LOCUS_MODE
#include <locus/ops/call.hpp>               // call

namespace locus {
inline namespace LOCUS_MODE {

/// means: auto [places, count] = nonzero(x): the indices of the elements of x that are not 0, in row
///        order, then zeros; and their number. trim(nonzero(x)) waits, and is a Tensor of the
///        indices alone. Of two calls on operands of one type in one plan, one operand needs a name:
///        nonzero(named<"x">(x))
/// shape: places: (elements of x) of a list, (elements of x, rank) of other operands; count: rank 0
/// device: as x, which is whole; pieces do not compile
/// cost:  one launch; no fusion, so that nonzero(x > 0) computes the mask first. A GPU selects the
///        numbers of the elements, then finds their indices
/// fails: at compile time, for pieces and for an operand without axes; on a GPU shape_error for
///        2^31 - 1 elements or more
/// units: int64; no derivative     after: NumPy's argwhere; of a list, its flatnonzero
template <tensor_operand X>
constexpr auto nonzero(X&& x) {
  constexpr bool has_axes = expression_of_t<X>::pattern.rank > 0;
  static_assert(has_axes, "locus: nonzero takes a tensor with axes, along which places lie; write "
                          "fetch(x) != 0");
  if constexpr (has_axes) return call(algorithms::nonzero_op{}, std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
