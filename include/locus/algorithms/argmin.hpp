// SPDX-License-Identifier: Apache-2.0
// argmin: the place of the smallest element. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>  // -
#include <locus/ops/reduce.hpp>      // argmax

namespace locus {
inline namespace LOCUS_MODE {

/// means: the lowest index of the smallest element; the index of the first NaN if there is one
/// shape: that of x without Axis; without Axis: the index in row order over all elements     units:
///        int64
/// device: as argmax: over a cut a partial value of (element, global index)
/// cost:  that of argmax: the subtraction is fused with it
/// fails: at compile time, for an axis outside the rank, and for booleans; at binding, over no
///        element
/// after: argmax(-x), for integers argmax(-1 - x), which turns the order around without an overflow
template <int... Axis, tensor_operand X>
  requires(sizeof...(Axis) <= 1)
constexpr auto argmin(X&& x) {
  using T = element_of_t<X>;
  if constexpr (is_integer_v<T>)
    return argmax<Axis...>(static_cast<T>(-1) - std::forward<X>(x));
  else
    return argmax<Axis...>(-std::forward<X>(x));
}

}  // namespace LOCUS_MODE
}  // namespace locus
