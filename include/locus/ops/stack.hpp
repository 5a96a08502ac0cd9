// SPDX-License-Identifier: Apache-2.0
// stack: operands of one shape as the elements of a new axis. A program includes this header by
// name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/ops/concatenate.hpp>  // concatenate
#include <locus/ops/views.hpp>        // expand_dims

namespace locus {
inline namespace LOCUS_MODE {

/// means: r[a..., k, b...] = x_k[a..., b...], a: Axis axes; -1: a last axis
/// shape: that of the operands, which are equal, with an axis of as many elements as operands
/// device, cost: as concatenate: one copying kernel
/// fails: at compile time, for element types, ranks or static extents that differ
/// after: NumPy's stack
template <int Axis, tensor_operand X, tensor_operand... More>
constexpr auto stack(X&& x, More&&... more) {
  return concatenate<Axis>(expand_dims<Axis>(std::forward<X>(x)),
                           expand_dims<Axis>(std::forward<More>(more))...);
}

}  // namespace LOCUS_MODE
}  // namespace locus
