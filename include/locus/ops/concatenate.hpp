// SPDX-License-Identifier: Apache-2.0
// concatenate: operands one after the other along an axis.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/map.hpp>         // checked_node
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN

namespace locus {

template <int Axis>
struct concatenate_op {
  LOCUS_BUILTIN("concatenate")
  static constexpr step_kind kind = step_kind::concatenate;
  static constexpr int axis_of(int rank) { return Axis < 0 ? Axis + rank : Axis; }
  template <class T, class... More>
  using result = T;
  static constexpr shape infer(shape a) {
    return fits(a) && axis_of(a.rank) >= 0 && axis_of(a.rank) < a.rank ? a : no_shape;
  }
  static constexpr shape infer(shape a, shape b, auto... more) {
    return infer(joined(a, b, axis_of(a.rank)), more...);
  }
  template <class... T>
  static constexpr void describe(step& s, int rank) {
    s.axis = static_cast<signed char>(axis_of(rank));
  }
};

inline namespace LOCUS_MODE {

/// means: r = x[0], x[1], ... one after the other along Axis
/// shape: extents of Axis are added, the others are equal     cost: one copying kernel
/// fails: at compile time, when other axes, ranks or element types differ
template <int Axis, tensor_operand X, tensor_operand... More>
constexpr auto concatenate(X&& x, More&&... more) {
  using Op = concatenate_op<Axis>;
  if constexpr (detail::elements_fit<Op, (std::is_same_v<element_of_t<X>, element_of_t<More>> &&
                                          ... && true)>())
    return internal::checked_node<Op>(Op{}, as_operand<void>(std::forward<X>(x)),
                                      as_operand<void>(std::forward<More>(more))...);
  else
    return sizeof(element_types_do_not_fit<Op, element_of_t<X>, element_of_t<More>...>);
}

template <tensor_operand X, class... More>
constexpr auto concatenate(X const&, More const&...) {
  static_assert(always_false<X>, "locus: concatenate names its axis; write concatenate<0>(x, y)");
}

}  // namespace LOCUS_MODE

}  // namespace locus
