// SPDX-License-Identifier: Apache-2.0
// Named element-wise functions.
#pragma once
#include <utility>  // forward

#include <locus/core/config.hpp>     // LOCUS_MODE
#include <locus/expr/lifetimes.hpp>  // LOCUS_OF_ONE, LOCUS_OF_TWO
#include <locus/ops/functors.hpp>    // exp_fn, ...
#include <locus/ops/map.hpp>         // elementwise

namespace locus {

inline namespace LOCUS_MODE {

// means: r[i] = f(x[i])     shape: that of x     cost: fused with its neighbours
#define LOCUS_UNARY(function) LOCUS_OF_ONE(function, detail::elementwise, function##_fn{}, )
LOCUS_UNARY(exp)
LOCUS_UNARY(exp2)
LOCUS_UNARY(expm1)
LOCUS_UNARY(log)
LOCUS_UNARY(log2)
LOCUS_UNARY(log10)
LOCUS_UNARY(log1p)
LOCUS_UNARY(sqrt)
LOCUS_UNARY(rsqrt)
LOCUS_UNARY(cbrt)
LOCUS_UNARY(square)
LOCUS_UNARY(reciprocal)
LOCUS_UNARY(sin)
LOCUS_UNARY(cos)
LOCUS_UNARY(tan)
LOCUS_UNARY(asin)
LOCUS_UNARY(acos)
LOCUS_UNARY(atan)
LOCUS_UNARY(sinh)
LOCUS_UNARY(cosh)
LOCUS_UNARY(tanh)
LOCUS_UNARY(asinh)
LOCUS_UNARY(acosh)
LOCUS_UNARY(atanh)
LOCUS_UNARY(erf)
LOCUS_UNARY(erfc)
/// sigmoid: 1 / (1 + exp(-x))
LOCUS_UNARY(sigmoid)
LOCUS_UNARY(relu)
LOCUS_UNARY(abs)
/// sign: 1, -1, or x where it is 0 or NaN
LOCUS_UNARY(sign)
LOCUS_UNARY(floor)
LOCUS_UNARY(ceil)
LOCUS_UNARY(trunc)
/// round: to the nearest whole number, halves to the even one
LOCUS_UNARY(round)
LOCUS_UNARY(isnan)
LOCUS_UNARY(isinf)
LOCUS_UNARY(isfinite)
#undef LOCUS_UNARY

// means: r[i] = f(a[i], b[i])     shape: NumPy broadcasting     cost: fused with its neighbours
#define LOCUS_BINARY(function) LOCUS_OF_TWO(function, detail::elementwise, function##_fn{}, )
LOCUS_BINARY(maximum)
LOCUS_BINARY(minimum)
LOCUS_BINARY(floor_div)
LOCUS_BINARY(trunc_div)
LOCUS_BINARY(true_div)
LOCUS_BINARY(pow)
LOCUS_BINARY(atan2)
LOCUS_BINARY(hypot)
#undef LOCUS_BINARY

/// means: r[i] = min(max(x[i], low[i]), high[i])
template <tensor_operand X, operand Low, operand High>
constexpr auto clamp(X&& x, Low&& low, High&& high) {
  return detail::elementwise(clamp_fn{}, std::forward<X>(x), std::forward<Low>(low),
                             std::forward<High>(high));
}

/// means: r[i] = a[i] b[i] + c[i], rounded once     after: std::fma
template <operand Lhs, operand Rhs, operand Add>
  requires(tensor_operand<Lhs> || tensor_operand<Rhs> || tensor_operand<Add>)
constexpr auto fma(Lhs&& a, Rhs&& b, Add&& c) {
  return detail::elementwise(fma_fn{}, std::forward<Lhs>(a), std::forward<Rhs>(b),
                             std::forward<Add>(c));
}

/// means: r[i] = c[i] ? a[i] : b[i]; numbers take the element type of the other branch
template <tensor_operand Condition, operand Lhs, operand Rhs>
constexpr auto where(Condition&& c, Lhs&& a, Rhs&& b) {
  using Number =
      std::conditional_t<number<Lhs> && number<Rhs>,
                         promote_t<std::remove_cvref_t<Lhs>, std::remove_cvref_t<Rhs>>,
                         typename detail::weak_of<detail::tensor_elements_t<Lhs, Rhs>>::type>;
  constexpr bool fits =
      detail::has_kernel<where_fn, element_of_t<Condition>, detail::seen_as_t<Number, Lhs>,
                         detail::seen_as_t<Number, Rhs>>() &&
      std::is_same_v<element_of_t<Condition>, bool>;
  if constexpr (detail::elements_fit<where_fn, fits>())
    return detail::checked_node<where_fn>(
        map_op<where_fn>{}, as_operand<void>(std::forward<Condition>(c)),
        as_operand<Number>(std::forward<Lhs>(a)), as_operand<Number>(std::forward<Rhs>(b)));
  else
    return sizeof(element_types_do_not_fit<where_fn, element_of_t<Condition>, element_of_t<Lhs>,
                                           element_of_t<Rhs>>);
}

/// means: r[i] = x[i] as To (cast_fn says how)
template <class To, tensor_operand X>
constexpr auto cast(X&& x) {
  return detail::elementwise(cast_fn<To>{}, std::forward<X>(x));
}

template <tensor_operand X>
constexpr auto cast(X&&) {
  static_assert(always_false<X>, "locus: cast needs an element type; write cast<float>(x)");
}

/// means: r[i] = x[0][i] + x[1][i] + ..., from the left     cost: one kernel, no temporary
template <tensor_operand... Xs>
  requires(sizeof...(Xs) > 0)
constexpr auto add_n(Xs&&... xs) {
  return detail::elementwise(add_n_fn{}, std::forward<Xs>(xs)...);
}

}  // namespace LOCUS_MODE
}  // namespace locus
