// SPDX-License-Identifier: Apache-2.0
// Operators: arithmetic, comparisons, logic.
#pragma once
#include <utility>  // forward

#include <locus/core/config.hpp>   // LOCUS_MODE
#include <locus/ops/functors.hpp>  // add_fn, ...
#include <locus/ops/map.hpp>       // elementwise

namespace locus {

/// Two operands of which one is a tensor: what the operators of locus take.
template <class Lhs, class Rhs>
concept tensor_pair = operand<Lhs> && operand<Rhs> && (tensor_operand<Lhs> || tensor_operand<Rhs>);

inline namespace LOCUS_MODE {

// means: r[i] = a[i] symbol b[i]     shape: NumPy broadcasting     cost: one operation per element,
//        fused
// fails: at compile time, when kinds of element types mix or static shapes do not fit
#define LOCUS_OPERATOR(symbol, functor)                                                \
  template <class Lhs, class Rhs>                                                      \
    requires tensor_pair<Lhs, Rhs>                                                     \
  constexpr auto operator symbol(Lhs&& a, Rhs&& b) {                                   \
    return detail::elementwise(functor{}, std::forward<Lhs>(a), std::forward<Rhs>(b)); \
  }
LOCUS_OPERATOR(+, add_fn)
LOCUS_OPERATOR(-, subtract_fn)
LOCUS_OPERATOR(*, multiply_fn)
LOCUS_OPERATOR(==, equal_to_fn)
LOCUS_OPERATOR(!=, not_equal_to_fn)
LOCUS_OPERATOR(<, less_fn)
LOCUS_OPERATOR(<=, less_equal_fn)
LOCUS_OPERATOR(>, greater_fn)
LOCUS_OPERATOR(>=, greater_equal_fn)
LOCUS_OPERATOR(&&, logical_and_fn)
LOCUS_OPERATOR(||, logical_or_fn)
#undef LOCUS_OPERATOR

}  // namespace LOCUS_MODE

namespace detail {
template <class Lhs, class Rhs>
consteval bool division_is_floating() {
  using Weak = typename weak_of<tensor_elements_t<Lhs, Rhs>>::type;
  constexpr bool floating = !is_integer_v<Weak>;
  static_assert(floating, "locus: / of integers is ambiguous; write floor_div(a, b), trunc_div(a, "
                          "b) or true_div(a, b)");
  return floating;
}
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i] = a[i] / b[i]     fails: at compile time for integers: three divisions are meant by
///        it
template <class Lhs, class Rhs>
  requires tensor_pair<Lhs, Rhs>
constexpr auto operator/(Lhs&& a, Rhs&& b) {
  if constexpr (detail::division_is_floating<Lhs, Rhs>())
    return detail::elementwise(divide_fn{}, std::forward<Lhs>(a), std::forward<Rhs>(b));
}

template <tensor_operand Lhs>
constexpr auto operator-(Lhs&& a) {
  return detail::elementwise(negate_fn{}, std::forward<Lhs>(a));
}
template <tensor_operand Lhs>
constexpr auto operator!(Lhs&& a) {
  return detail::elementwise(logical_not_fn{}, std::forward<Lhs>(a));
}

}  // namespace LOCUS_MODE
}  // namespace locus
