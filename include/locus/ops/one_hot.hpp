// SPDX-License-Identifier: Apache-2.0
// one_hot: each label becomes a row of zeros with a single 1.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>  // LOCUS_MODE
#include <locus/ops/map.hpp>      // map_op
#include <locus/ops/views.hpp>    // expand_dims

namespace locus {

template <class T>
struct one_hot_fn {
  LOCUS_BUILTIN("one_hot")
  template <class Label>
  LOCUS_HOST_DEVICE constexpr T operator()(Label label, std::int64_t column) const {
    return static_cast<std::int64_t>(label) == column ? T(1) : T(0);
  }
};

inline namespace LOCUS_MODE {

/// means: r[i..., c] = label[i...] == c ? 1 : 0
/// shape: that of label, with a last axis of extent Classes
/// cost:  fused with its reader; a label outside [0, Classes) gives a row of zeros, as in
///        TensorFlow
template <int Classes, class T = float, tensor_operand X>
constexpr auto one_hot(X&& label) {
  static_assert(Classes > 0, "locus: one_hot needs at least one class; write one_hot<10>(label)");
  static_assert(is_integer_v<element_of_t<X>>,
                "locus: one_hot reads integer labels; write cast<int>(x)");
  return make_node(map_op<one_hot_fn<T>>{}, expand_dims<-1>(std::forward<X>(label)),
                   Index<Extents<Classes>>{Extents<Classes>{}});
}

}  // namespace LOCUS_MODE
}  // namespace locus
