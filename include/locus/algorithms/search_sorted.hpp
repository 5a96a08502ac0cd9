// SPDX-License-Identifier: Apache-2.0
// search_sorted: the places of values among sorted elements. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/algorithms/search_op.hpp>  // search_op
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/call.hpp>              // call

namespace locus {

/// The place behind equal elements instead of in front of them.
struct behind_equal_t {};
inline constexpr behind_equal_t behind_equal{};

namespace algorithms {
inline namespace LOCUS_MODE {

template <bool BehindEqual, class S, class X>
constexpr auto places_among(S&& s, X&& x) {
  using T = element_of_t<X>;
  constexpr bool is_line = expression_of_t<S>::pattern.rank == 1;
  constexpr bool has_numbers =
      std::is_same_v<T, element_of_t<S>> && (is_floating_v<T> || is_integer_v<T>);
  static_assert(is_line, "locus: search_sorted reads sorted elements along one axis; write "
                         "search_sorted(reshape<12>(s), x)");
  static_assert(has_numbers,
                "locus: search_sorted compares numbers of one type with an order; write "
                "search_sorted(s, cast<float>(x)) for sorted floats, and abs(x) or real(x) for "
                "complex numbers");
  if constexpr (is_line && has_numbers)
    return call(search_op<BehindEqual, checked_build>{}, std::forward<S>(s), std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace algorithms

inline namespace LOCUS_MODE {

/// means: r[i...] = the number of elements of s that are less than x[i...]: the place in front of
///        which it stands in s, in front of equal elements. search_sorted(s, x, behind_equal): the
///        number of those that are not greater. NaN equals NaN and is greater than each number
/// shape: that of x; s: one axis, in rising order, as sort gives it     units: int64
/// device: as x, which may be in pieces along any axis; pieces of s are gathered
/// cost:  one launch, log2 of the extent of s for each x; no fusion. The host takes 16 of them step
///        by step at the same time; a GPU one for each thread
/// fails: at compile time, for elements of two types, booleans, complex numbers, or s of another rank. Elements
///        without order: shape_error that names the place, in checked builds (LOCUS_CHECKED) on the
///        host and on simulated GPUs; otherwise places in 0 ... extent without meaning
/// after: NumPy's searchsorted: side="left", behind_equal: side="right"; no derivative
template <tensor_operand S, tensor_operand X>
constexpr auto search_sorted(S&& s, X&& x) {
  return algorithms::places_among<false>(std::forward<S>(s), std::forward<X>(x));
}
template <tensor_operand S, tensor_operand X>
constexpr auto search_sorted(S&& s, X&& x, behind_equal_t) {
  return algorithms::places_among<true>(std::forward<S>(s), std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
