// SPDX-License-Identifier: Apache-2.0
// interior: the operands of stencils, and their destination.
#pragma once
#include <utility>  // forward, index_sequence

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/ops/map.hpp>      // checked_node
#include <locus/ops/views.hpp>    // slice_op, as_whole

namespace locus {

namespace detail {

/// the ends of the ranges of interior<Width, Moved...>, two for each axis
template <int Width, int... Moved>
struct interior_ends {
  static constexpr int axes = int(sizeof...(Moved));
  struct list {
    std::int64_t of[2 * axes];
  };
  static constexpr list all = [] {
    list ends{};
    int k = 0;
    ((ends.of[k++] = Width + Moved,
      ends.of[k++] = Moved == Width ? range::to_end : std::int64_t(Moved) - Width),
     ...);
    return ends;
  }();
  template <std::size_t... Idx>
  static auto op(std::index_sequence<Idx...>)
      -> slice_op<axis_set((1u << axes) - 1), all.of[Idx]...>;
};

inline namespace LOCUS_MODE {

template <int Width, int... Moved, class E>
constexpr auto interior_node(E&& operand) {
  using ends = interior_ends<Width, Moved...>;
  using Op = decltype(ends::op(std::make_index_sequence<2 * sizeof...(Moved)>{}));
  return internal::checked_node<Op>(Op(), std::forward<E>(operand));
}
template <int Width, class E, std::size_t... Axis>
constexpr auto middle_node(E&& operand, std::index_sequence<Axis...>) {
  return interior_node<Width, (int(Axis) * 0)...>(std::forward<E>(operand));
}

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i...] = x[i + Width + Moved...]: x without Width elements at both ends of each axis, and
///        the neighbours of these elements. interior<1>(x); interior<1, -1, 0>(x): one row before
/// shape: each extent less 2 Width; static extents stay static
/// device: that of x; of a tensor in pieces along axis 0, the rows of each piece. An operand that
///         another row of the kernel needs reads rows of other pieces from the margins of a
///         tensor whose type has a Halo
/// cost:  none: a part of the same memory
/// fails: at compile time, where Moved names more or fewer axes than x has, or an element outside
///        of x; for rows that no margin keeps; shape_error, where an extent is smaller than 2 Width
/// after: NumPy's x[1:-1, 1:-1] and x[:-2, 1:-1]; the margins of its derivative: decisions/41-halos.md
template <int Width, int... Moved, tensor_operand X>
constexpr auto interior(X&& x) {
  constexpr int rank = expression_of_t<X>::pattern.rank;
  constexpr bool fits = sizeof...(Moved) == 0 || int(sizeof...(Moved)) == rank;
  static_assert(fits, "locus: interior moves along each axis; write interior<1, -1, 0>(x) of a "
                      "matrix, or interior<1>(x)");
  constexpr bool inside =
      Width >= 0 && Width <= max_left_out / 2 && ((Moved <= Width && Moved >= -Width) && ...);
  static_assert(inside, "locus: interior moves by at most its width, which is 0 to 16; write "
                        "interior<2, -2>(x)");
  if constexpr (!fits || !inside)
    return;
  else if constexpr (sizeof...(Moved) > 0)
    return detail::interior_node<Width, Moved...>(internal::as_whole(std::forward<X>(x)));
  else
    return detail::middle_node<Width>(internal::as_whole(std::forward<X>(x)),
                                      std::make_index_sequence<std::size_t(rank)>{});
}

}  // namespace LOCUS_MODE

}  // namespace locus
