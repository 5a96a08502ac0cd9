// SPDX-License-Identifier: Apache-2.0
// Named element-wise functions.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/expr/lifetimes.hpp>   // LOCUS_OF_ONE, LOCUS_OF_TWO
#include <locus/ops/elementwise.hpp>  // LOCUS_ELEMENTWISE
#include <locus/ops/functors.hpp>     // exp_fn, ...
#include <locus/ops/map.hpp>          // elementwise

namespace locus {

inline namespace LOCUS_MODE {

// means: r[i] = f(x[i]), or f(a[i], b[i]), for the named rows of ops/elementwise.hpp
// shape: that of x, or NumPy broadcasting     cost: fused with its element-wise neighbours
// fails: at compile time, when the element types or static shapes do not fit
#define LOCUS_CALL_OF_one_named(function) \
  LOCUS_OF_ONE(function, detail::elementwise, function##_fn{}, )
#define LOCUS_CALL_OF_two_named(function) \
  LOCUS_OF_TWO(function, detail::elementwise, function##_fn{}, )
// rows that ops/arithmetic.hpp calls, and rows written below
#define LOCUS_CALL_OF_one_symbol(function, symbol)
#define LOCUS_CALL_OF_two_symbol(function, symbol)
#define LOCUS_CALL_OF_one_apart(function)
#define LOCUS_CALL_OF_two_apart(function)
#define LOCUS_CALL_OF_three_apart(function)
#define LOCUS_CALL_OF_any_apart(function)
#define LOCUS_CALL_ROW(operands, name, tensorflow, law, elements, cost, end, call, ...) \
  LOCUS_CELL(LOCUS_CALL_OF_##operands##_, name, LOCUS_BARE call)
LOCUS_ELEMENTWISE(LOCUS_CALL_ROW)
#undef LOCUS_CALL_ROW
#undef LOCUS_CALL_OF_one_named
#undef LOCUS_CALL_OF_two_named
#undef LOCUS_CALL_OF_one_symbol
#undef LOCUS_CALL_OF_two_symbol
#undef LOCUS_CALL_OF_one_apart
#undef LOCUS_CALL_OF_two_apart
#undef LOCUS_CALL_OF_three_apart
#undef LOCUS_CALL_OF_any_apart

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

/// means: r[i] = c[i] ? a[i] : b[i]; a host number takes the element type of the other branch
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
    return internal::checked_node<where_fn>(
        map_op<where_fn>{}, as_operand<void>(std::forward<Condition>(c)),
        as_operand<Number>(std::forward<Lhs>(a)), as_operand<Number>(std::forward<Rhs>(b)));
  else
    return sizeof(element_types_do_not_fit<where_fn, element_of_t<Condition>, element_of_t<Lhs>,
                                           element_of_t<Rhs>>);
}

/// means: r[i] = x[i] converted to To, as cast_fn does
template <class To, tensor_operand X>
constexpr auto cast(X&& x) {
  return detail::elementwise(cast_fn<To>{}, std::forward<X>(x));
}

template <tensor_operand X>
constexpr auto cast(X&&) {
  static_assert(always_false<X>, "locus: cast needs an element type; write cast<float>(x)");
}

/// means: r[i] = x[0][i] + x[1][i] + ..., from the left     cost: one kernel, no temporary; several
///        kernels for more operands than one reads, which are 24
template <tensor_operand... Xs>
  requires(sizeof...(Xs) > 0)
constexpr auto add_n(Xs&&... xs) {
  constexpr std::size_t most = 16;  // below max_region_values (plan/data.hpp): a step fits a kernel
  if constexpr (sizeof...(Xs) <= most)
    return detail::elementwise(add_n_fn{}, std::forward<Xs>(xs)...);
  else
    return [](auto&& a, auto&& b, auto&& c, auto&& d, auto&&... more) {
      return add_n(add_n(std::forward<decltype(a)>(a), std::forward<decltype(b)>(b),
                         std::forward<decltype(c)>(c), std::forward<decltype(d)>(d)),
                   std::forward<decltype(more)>(more)...);
    }(std::forward<Xs>(xs)...);
}

}  // namespace LOCUS_MODE

}  // namespace locus
