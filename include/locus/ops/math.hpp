// SPDX-License-Identifier: Apache-2.0
// Named element-wise functions.
#pragma once
#include <utility>  // forward

#include <locus/ops/arithmetic.hpp>  // tensor_pair
#include <locus/ops/functors.hpp>    // exp_fn, ...
#include <locus/ops/map.hpp>         // elementwise

namespace locus {

// means: r[i] = f(x[i])     shape: that of x     cost: fused with its neighbours
#define LOCUS_UNARY(function)                                                \
  template <tensor_operand X>                                                \
  constexpr auto function(X&& x) {                                           \
    return detail::elementwise(function##_fn{}, std::forward<X>(x));         \
  }
LOCUS_UNARY(exp)
LOCUS_UNARY(log)
LOCUS_UNARY(sqrt)
LOCUS_UNARY(square)
LOCUS_UNARY(abs)
LOCUS_UNARY(tanh)
LOCUS_UNARY(relu)
#undef LOCUS_UNARY

// means: r[i] = f(a[i], b[i])     shape: NumPy broadcasting     cost: fused with its neighbours
#define LOCUS_BINARY(function)                                                                 \
  template <class A, class B>                                                                  \
    requires tensor_pair<A, B>                                                                 \
  constexpr auto function(A&& a, B&& b) {                                                      \
    return detail::elementwise(function##_fn{}, std::forward<A>(a), std::forward<B>(b));       \
  }
LOCUS_BINARY(maximum)
LOCUS_BINARY(minimum)
LOCUS_BINARY(floor_div)
LOCUS_BINARY(trunc_div)
LOCUS_BINARY(true_div)
#undef LOCUS_BINARY

/// means: r[i] = min(max(x[i], low[i]), high[i])
template <tensor_operand X, operand Low, operand High>
constexpr auto clamp(X&& x, Low&& low, High&& high) {
  return detail::elementwise(clamp_fn{}, std::forward<X>(x), std::forward<Low>(low), std::forward<High>(high));
}

/// means: r[i] = c[i] ? a[i] : b[i]; numbers take the element type of the other branch
template <tensor_operand C, operand A, operand B>
constexpr auto where(C&& c, A&& a, B&& b) {
  using Number = std::conditional_t<number<A> && number<B>, promote_t<std::remove_cvref_t<A>, std::remove_cvref_t<B>>,
                                    typename detail::weak_of<detail::tensor_elements_t<A, B>>::type>;
  constexpr bool fits = detail::has_kernel<where_fn, element_of_t<C>, detail::seen_as_t<Number, A>,
                                           detail::seen_as_t<Number, B>>() &&
                        std::is_same_v<element_of_t<C>, bool>;
  if constexpr (detail::elements_fit<where_fn, fits>())
    return detail::checked_node<where_fn>(map_op<where_fn>{}, as_operand<void>(std::forward<C>(c)),
                                          as_operand<Number>(std::forward<A>(a)),
                                          as_operand<Number>(std::forward<B>(b)));
  else return sizeof(element_types_do_not_fit<where_fn, element_of_t<C>, element_of_t<A>, element_of_t<B>>);
}

/// means: r[i] = x[i] as To (cast_fn says how)
template <class To, tensor_operand X>
constexpr auto cast(X&& x) { return detail::elementwise(cast_fn<To>{}, std::forward<X>(x)); }

/// means: r[i] = x[0][i] + x[1][i] + ..., from the left     cost: one kernel, no temporary
template <tensor_operand... Xs>
  requires(sizeof...(Xs) > 0)
constexpr auto add_n(Xs&&... xs) { return detail::elementwise(add_n_fn{}, std::forward<Xs>(xs)...); }

}  // namespace locus
