// SPDX-License-Identifier: Apache-2.0
// Operators: arithmetic, comparisons, logic.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/expr/lifetimes.hpp>   // LOCUS_OF_ONE, LOCUS_OF_TWO
#include <locus/ops/elementwise.hpp>  // LOCUS_ELEMENTWISE_ARITHMETIC
#include <locus/ops/functors.hpp>     // add_fn, ...
#include <locus/ops/map.hpp>          // elementwise

namespace locus {

inline namespace LOCUS_MODE {

// means: r[i] = a[i] symbol b[i], or symbol x[i], for the rows of ops/elementwise.hpp with a symbol
// shape: NumPy broadcasting     cost: one operation per element, fused
// fails: at compile time, when float and integer types mix or static shapes do not fit
#define LOCUS_CALL_OF_one_symbol(name, symbol) \
  LOCUS_OF_ONE(operator symbol, detail::elementwise, name##_fn{}, )
#define LOCUS_CALL_OF_two_symbol(name, symbol) \
  LOCUS_OF_TWO(operator symbol, detail::elementwise, name##_fn{}, )
// rows that ops/math.hpp calls, and rows written below
#define LOCUS_CALL_OF_one_named(name)
#define LOCUS_CALL_OF_two_named(name)
#define LOCUS_CALL_OF_one_apart(name)
#define LOCUS_CALL_OF_two_apart(name)
#define LOCUS_CALL_OF_three_apart(name)
#define LOCUS_CALL_OF_any_apart(name)
#define LOCUS_OPERATOR(operands, name, tensorflow, law, elements, cost, end, call, ...) \
  LOCUS_CELL(LOCUS_CALL_OF_##operands##_, name, LOCUS_BARE call)
LOCUS_ELEMENTWISE_ARITHMETIC(LOCUS_OPERATOR)
#undef LOCUS_OPERATOR
#undef LOCUS_CALL_OF_one_symbol
#undef LOCUS_CALL_OF_two_symbol
#undef LOCUS_CALL_OF_one_named
#undef LOCUS_CALL_OF_two_named
#undef LOCUS_CALL_OF_one_apart
#undef LOCUS_CALL_OF_two_apart
#undef LOCUS_CALL_OF_three_apart
#undef LOCUS_CALL_OF_any_apart

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
template <class Lhs, class Rhs>
constexpr auto quotient(Lhs&& a, Rhs&& b) {
  if constexpr (division_is_floating<Lhs, Rhs>())
    return elementwise(divide_fn{}, std::forward<Lhs>(a), std::forward<Rhs>(b));
}
template <class Lhs, class Rhs>
consteval bool remainder_is_of_integers() {
  using Weak = typename weak_of<tensor_elements_t<Lhs, Rhs>>::type;
  constexpr bool whole = !is_floating_v<Weak>;
  static_assert(whole, "locus: % of floats is ambiguous; write fmod(a, b) for a remainder with the "
                       "sign of a, or floor_mod(a, b) for one with the sign of b");
  return whole;
}
template <class Lhs, class Rhs>
constexpr auto remainder(Lhs&& a, Rhs&& b) {
  if constexpr (remainder_is_of_integers<Lhs, Rhs>())
    return elementwise(fmod_fn{}, std::forward<Lhs>(a), std::forward<Rhs>(b));
}
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i] = a[i] / b[i]     fails: at compile time for integers, for which a program chooses
///        one of floor_div, trunc_div and true_div
LOCUS_OF_TWO(operator/, detail::quotient, )

/// means: r[i] = fmod(a[i], b[i]) of integers: a[i] - b[i] trunc_div(a[i], b[i]), 0 where b[i] is 0
/// fails: at compile time for floats, for which a program chooses one of fmod and floor_mod
LOCUS_OF_TWO(operator%, detail::remainder, )

}  // namespace LOCUS_MODE
}  // namespace locus
