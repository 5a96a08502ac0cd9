// SPDX-License-Identifier: Apache-2.0
// stop_gradient(e): gradients treat the value as a constant.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>   // LOCUS_MODE
#include <locus/expr/node.hpp>     // make_node
#include <locus/expr/operand.hpp>  // as_operand

namespace locus {

/// means: the operand itself; adds no step
struct stop_gradient_op {
  static constexpr int steps = 0, edges = 0;
  template <class T>
  using result = T;
  template <class T>
  using entries = type_list<>;
  static constexpr shape infer(shape a) { return a; }
  template <class T>
  static constexpr short emit_steps(builder&, request, short const* operands) {
    return operands[0];
  }
};

inline namespace LOCUS_MODE {

/// means: e, whose gradient is 0     cost: none
/// after: tf.stop_gradient
template <tensor_operand X>
constexpr auto stop_gradient(X&& e) {
  return make_node(stop_gradient_op{}, as_operand<void>(std::forward<X>(e)));
}

}  // namespace LOCUS_MODE
}  // namespace locus
