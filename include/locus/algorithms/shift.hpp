// SPDX-License-Identifier: Apache-2.0
// shift: each element is its neighbour at a distance. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward, index_sequence

#include <locus/algorithms/moves.hpp>  // roll, pad
#include <locus/core/macros.hpp>       // LOCUS_MODE
#include <locus/ops/concatenate.hpp>   // concatenate
#include <locus/ops/shift_op.hpp>      // shift_op, place_of_tensor
#include <locus/ops/views.hpp>         // slice

namespace locus {

namespace algorithms {

inline namespace LOCUS_MODE {

/// means: x without By rows at one end, and as often the row at the other end
template <int Axis, int By, class E, std::size_t... Time>
constexpr auto with_end_rows(E const& x, std::index_sequence<Time...>) {
  if constexpr (By > 0)
    return concatenate<Axis>(slice<Axis, By, range::to_end>(x),
                             (static_cast<void>(Time), slice<Axis, -1, range::to_end>(x))...);
  else
    return concatenate<Axis>((static_cast<void>(Time), slice<Axis, 0, 1>(x))...,
                             slice<Axis, 0, By>(x));
}
template <int Axis, int By, beyond Outside, class E>
constexpr auto shifted_copy(E const& x) {
  if constexpr (Outside == beyond::wrap)
    return roll<Axis>(x, -By);
  else if constexpr (By == 0)
    return x;
  else if constexpr (Outside == beyond::keep)
    return with_end_rows<Axis, By>(x, std::make_index_sequence<std::size_t(By < 0 ? -By : By)>{});
  else if constexpr (By > 0)
    return pad<Axis, 0, By>(slice<Axis, By, range::to_end>(x));
  else
    return pad<Axis, -By, 0>(slice<Axis, 0, By>(x));
}

}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[i] = x[i + By] along Axis; beyond the ends of x: the other end (wrap), the row at the end
///        (keep), or 0 (zero). Without a rule: that of the Halo in the type of x
/// shape: that of x
/// device: that of x. Along the cut, a tensor whose Halo has the rule and is as wide as By
/// cost:  none for a tensor with such a Halo: its reader reads the margins; else one launch
/// fails: at compile time, for an axis outside the rank, a By beyond -8 ... 8, no rule, or along the
///        cut of a value without such a Halo; shape_error, where an extent is smaller than By
/// after: Fortran's CSHIFT (wrap) and EOSHIFT (zero)
template <int Axis, int By, beyond Outside = beyond::nothing, tensor_operand X>
constexpr auto shift(X&& x) {
  using E = expression_of_t<X>;
  constexpr int rank = E::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
  constexpr place at = internal::place_of_tensor<E>;
  constexpr beyond rule = Outside == beyond::nothing ? at.margin.outside : Outside;
  constexpr bool along_cut = at.is_sharded() && at.axis == axis;
  constexpr bool has_axis = axis >= 0 && axis < rank;
  static_assert(has_axis, "locus: shift names an axis that its operand does not have; axes count "
                          "from 0, or from -1 backwards");
  constexpr bool is_near = By >= -max_halo && By <= max_halo;
  static_assert(is_near, "locus: shift moves by -8 to 8 rows; write roll or slices for more");
  static_assert(rule != beyond::nothing,
                "locus: shift needs to know what lies beyond the ends; write shift<0, 1, "
                "beyond::keep>(x), or Halo<1, beyond::keep> in the type of x");
  static_assert(!along_cut || rule == at.margin.outside || rule == beyond::nothing,
                "locus: shift along the cut reads the margins of a tensor, whose rule is another; "
                "write the same rule in its Halo, as Halo<1, beyond::wrap>");
  if constexpr (!has_axis || !is_near || rule == beyond::nothing)
    return;
  else if constexpr (along_cut && rule == at.margin.outside)
    return make_node(map_op<identity_fn>{},
                     make_node(shift_op<axis, By>{}, as_operand<void>(std::forward<X>(x))));
  else if constexpr (!along_cut)
    return algorithms::shifted_copy<axis, By, rule>(as_operand<void>(std::forward<X>(x)));
}

}  // namespace LOCUS_MODE
}  // namespace locus
