// SPDX-License-Identifier: Apache-2.0
// shift: each element is its neighbour at a distance. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward, index_sequence, move

#include <locus/algorithms/moves.hpp>      // roll, pad
#include <locus/core/error.hpp>            // shape_error
#include <locus/core/macros.hpp>           // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/ops/concatenate.hpp>       // concatenate
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/ops/shift_op.hpp>          // shift_op, place_of_tensor
#include <locus/ops/views.hpp>             // slice

namespace locus {

namespace algorithms {

LOCUS_COLD_BEGIN
/// fails: shape_error, for an axis that is shorter than the shift
[[noreturn]] inline void refuse_shift(std::int64_t extent, int axis, int by) {
  message text;
  throw shape_error(text << "locus: shift moves the " << extent << " rows of axis " << axis
                         << " by " << by
                         << "; give it as many rows as it moves by, or beyond::wrap");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// means: an extent that the type knows has as many rows as a shift moves by
constexpr bool may_have_rows(shape const& of, int axis, int by) {
  if (axis < 0 || axis >= of.rank || of.extent[axis] == dyn) return true;
  return of.extent[axis] >= (by < 0 ? -by : by);
}
/// fails: shape_error, where x has fewer rows along Axis than a shift moves by
template <int Axis, int By, class E>
constexpr void check_rows(E const& x) {
  if constexpr (By != 0 && E::pattern.extent[Axis] == dyn) {
    shape const now = internal::shape_now(x);
    if (!may_have_rows(now, Axis, By)) refuse_shift(now.extent[Axis], Axis, By);
  }
}
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
///        cut of a value without such a Halo. Where an extent is smaller than By, with keep and zero: at
///        compile time for static extents, else shape_error; not along the cut, where margins have all rows
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
  constexpr bool has_rows =
      along_cut || rule == beyond::wrap || algorithms::may_have_rows(E::pattern, axis, By);
  static_assert(has_rows, "locus: shift moves more rows than its operand has; give it as many rows "
                          "as it moves by, or write beyond::wrap");
  if constexpr (!has_axis || !is_near || rule == beyond::nothing || !has_rows)
    return;
  else if constexpr (!along_cut || rule == at.margin.outside) {
    auto from = as_operand<void>(std::forward<X>(x));
    if constexpr (along_cut)
      return make_node(map_op<identity_fn>{}, make_node(shift_op<axis, By>{}, std::move(from)));
    else {
      if constexpr (rule != beyond::wrap) algorithms::check_rows<axis, By>(from);
      return algorithms::shifted_copy<axis, By, rule>(from);
    }
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
