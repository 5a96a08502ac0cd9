// SPDX-License-Identifier: Apache-2.0
// The adjoints of stencils over pieces: the adjoint of a window is read at a distance (at_rows), and zeros stand beyond
// its ends.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/grad/at_rows.hpp>          // at_rows, rows_inside_fn
#include <locus/grad/cut_of_value.hpp>     // cut_of
#include <locus/ops/math.hpp>              // where, add_n
#include <locus/ops/run_time_extents.hpp>  // shape_now

namespace locus::detail {
inline namespace LOCUS_MODE {

/// means: the row numbers [first, end) of n rows, as a column
template <int FromRight, class Rows>
constexpr auto rows_inside(Rows const& rows, std::int64_t first, std::int64_t end) {
  return [&]<std::size_t... One>(std::index_sequence<One...>) {
    using E = Extents<Rows::pattern.extent[0], (std::int64_t(One) * 0 + 1)...>;
    return generated(rows_inside_fn{0, 0, first, end},
                     E(rows.extent(0), (std::int64_t(One) * 0 + 1)...));
  }(std::make_index_sequence<std::size_t(FromRight)>{});
}
/// means: rows of the tensors under x, which has Span rows less
template <int FromRight, int Span, class X>
constexpr auto rows_under(X const& x) {
  constexpr std::int64_t n = X::pattern.from_right(FromRight);
  using Rows = Extents<n == dyn ? dyn : n + Span>;
  return Rows(internal::shape_now(x).from_right(FromRight) + Span);
}
/// means: row i of g at row i + By, for rows i + By in [first, end); elsewhere 0
template <int FromRight, int By, class Rows, class G>
constexpr auto moved_rows(Rows const& rows, G const& g, std::int64_t first, std::int64_t end) {
  return where(rows_inside<FromRight>(rows, first, end),
               at_rows<FromRight, -By, false, Rows>{rows}(g), 0.0);
}

/// means: the adjoint of x along the cut, of a slice of x that begins at row By; g: its adjoint
template <int FromRight, int By, class G, class X>
constexpr auto window_back(G const& g, X const& x) {
  auto const rows = rows_under<FromRight, cut_of<X>.span>(x);
  return moved_rows<FromRight, By>(rows, g, By, By + internal::shape_now(g).from_right(FromRight));
}
/// means: the adjoint of x, which lies in pieces, of x at the distance By
template <int Axis, int By, class G, class X>
constexpr auto shift_back(G const& g, X const& x) {
  constexpr int from_right = X::pattern.rank - 1 - Axis;
  constexpr beyond outside = internal::place_of_tensor<X>.margin.outside;
  auto const rows = rows_under<from_right, 0>(x);
  using Rows = std::remove_const_t<decltype(rows)>;
  std::int64_t const n = rows.extent(0);
  if constexpr (outside == beyond::wrap)
    return no_view(at_rows<from_right, -By, true, Rows>{rows}(g));
  else if constexpr (By == 0 || outside != beyond::keep)
    return moved_rows<from_right, By>(rows, g, By > 0 ? By : 0, By < 0 ? n + By : n);
  else  // many rows read the row at one end
    return [&]<int... D>(std::integer_sequence<int, D...>) {
      if constexpr (By > 0)
        return add_n(
            moved_rows<from_right, By>(rows, g, By, n),
            moved_rows<from_right, By - 1 - D>(rows, g, n - 1 < By - 1 - D ? n : n - 1, n)...);
      else
        return add_n(moved_rows<from_right, -D>(rows, g, 0, n < D + 1 ? 0 : 1)...,
                     moved_rows<from_right, By>(rows, g, 0, n + By));
    }(std::make_integer_sequence<int, (By < 0 ? -By : By)>{});
}

}  // namespace LOCUS_MODE
}  // namespace locus::detail
