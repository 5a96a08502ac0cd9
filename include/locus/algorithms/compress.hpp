// SPDX-License-Identifier: Apache-2.0
// compress, select: the rows of a tensor whose element of a mask is true. A program includes this
// header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/compress_op.hpp>  // compress_op
#include <locus/algorithms/scan.hpp>         // cumsum
#include <locus/algorithms/take.hpp>         // take
#include <locus/algorithms/trim.hpp>         // trim
#include <locus/core/macros.hpp>             // LOCUS_MODE
#include <locus/ops/call.hpp>                // call
#include <locus/ops/math.hpp>                // where
#include <locus/ops/views.hpp>               // expand_dims

namespace locus {

namespace algorithms {
inline namespace LOCUS_MODE {

/// means: a list with Axes axes of extent 1 behind it
template <int Axes, class X>
constexpr auto as_column(X const& x) {
  if constexpr (Axes == 0)
    return x;
  else
    return as_column<Axes - 1>(expand_dims<-1>(x));
}

}  // namespace LOCUS_MODE

template <int Axis>
template <class G, class Y, class Mask, class X>
constexpr auto compress_rule<Axis>::pullback(G const& g, Y const&, Mask const& mask, X const&) {
  using T = typename G::value_type;
  return where(as_column<X::pattern.rank - 1 - Axis>(mask),
               take<Axis>(g, cumsum<0>(mask, exclusive)), T(0));
}

}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: auto [values, count] = compress<Axis>(mask, x): the rows of x along Axis whose element of
///        the mask is true, in their order, then zeros; and their number. Of two calls on operands of
///        the same types in one plan, one operand needs a name: compress(mask, named<"x">(x))
/// shape: values: that of x, for the worst case; count: rank 0, int64
/// device: as x, which is whole, or in pieces along another axis; count on each replica; pieces of
///         the mask are gathered. Pieces of x along Axis do not compile: they would keep pieces of
///         any size
/// cost:  one launch; no fusion. A GPU selects row numbers, then copies the rows
/// fails: at compile time, for an axis outside the rank, for a mask that is not one list of booleans,
///        and for pieces along Axis; shape_error for a mask of another length; on a GPU for
///        2^31 - 1 rows or more
/// after: NumPy's compress, JAX's with a size; the derivative moves the adjoint back to the rows
template <int Axis = 0, tensor_operand Mask, tensor_operand X>
constexpr auto compress(Mask&& mask, X&& x) {
  constexpr int rank = expression_of_t<X>::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  constexpr bool has_mask =
      std::is_same_v<element_of_t<Mask>, bool> && expression_of_t<Mask>::pattern.rank == 1;
  static_assert(has_axis,
                "locus: compress names an axis that its operand does not have; axes count from 0, "
                "or from -1 backwards");
  static_assert(
      has_mask,
      "locus: the mask of compress and of select is one list of booleans; write compress(m != "
      "0, x), and reshape<n>(...) of mask and values with more axes");
  if constexpr (has_axis && has_mask)
    return call(algorithms::compress_op<axis>{}, std::forward<Mask>(mask), std::forward<X>(x));
}

/// means: the rows of x along Axis whose element of the mask is true, as a Tensor of their number:
///        trim(compress<Axis>(mask, x))
/// cost:  waits: see trim     shape, device, fails: as compress
/// after: x[mask] of NumPy
template <int Axis = 0, tensor_operand X, tensor_operand Mask>
[[nodiscard]] auto select(X&& x, Mask&& mask, call_site where = call_site::here()) {
  return trim(compress<Axis>(std::forward<Mask>(mask), std::forward<X>(x)), where);
}

}  // namespace LOCUS_MODE
}  // namespace locus
