// SPDX-License-Identifier: Apache-2.0
// Operators: arithmetic, comparisons, logic.
#pragma once
#include <utility>  // forward

#include <locus/core/config.hpp>     // LOCUS_MODE
#include <locus/expr/lifetimes.hpp>  // LOCUS_OF_ONE, LOCUS_OF_TWO
#include <locus/ops/functors.hpp>    // add_fn, ...
#include <locus/ops/map.hpp>         // elementwise

namespace locus {

inline namespace LOCUS_MODE {

// means: r[i] = a[i] symbol b[i]     shape: NumPy broadcasting     cost: one operation per element,
//        fused
// fails: at compile time, when kinds of element types mix or static shapes do not fit
LOCUS_OF_TWO(operator+, detail::elementwise, add_fn{}, )
LOCUS_OF_TWO(operator-, detail::elementwise, subtract_fn{}, )
LOCUS_OF_TWO(operator*, detail::elementwise, multiply_fn{}, )
LOCUS_OF_TWO(operator==, detail::elementwise, equal_to_fn{}, )
LOCUS_OF_TWO(operator!=, detail::elementwise, not_equal_to_fn{}, )
LOCUS_OF_TWO(operator<, detail::elementwise, less_fn{}, )
LOCUS_OF_TWO(operator<=, detail::elementwise, less_equal_fn{}, )
LOCUS_OF_TWO(operator>, detail::elementwise, greater_fn{}, )
LOCUS_OF_TWO(operator>=, detail::elementwise, greater_equal_fn{}, )
LOCUS_OF_TWO(operator&&, detail::elementwise, logical_and_fn{}, )
LOCUS_OF_TWO(operator||, detail::elementwise, logical_or_fn{}, )

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
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i] = a[i] / b[i]     fails: at compile time for integers: three divisions are meant by
///        it
LOCUS_OF_TWO(operator/, detail::quotient, )

LOCUS_OF_ONE(operator-, detail::elementwise, negate_fn{}, )
LOCUS_OF_ONE(operator!, detail::elementwise, logical_not_fn{}, )

}  // namespace LOCUS_MODE
}  // namespace locus
