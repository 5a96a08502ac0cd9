// SPDX-License-Identifier: Apache-2.0
// all_reduce(e): the terms of a partial value, reduced to one value on every replica.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/map.hpp>         // checked_node
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN

namespace locus {

struct all_reduce_fn {
  LOCUS_BUILTIN("all_reduce")
  template <class Elem>
  LOCUS_HOST_DEVICE constexpr Elem operator()(Elem v) const {
    return v;
  }
};

inline namespace LOCUS_MODE {

/// means: the reduction of the partial value e, on every replica, at this step and not where it is
///        read
/// shape: that of e     cost: one all-reduce; it may share a bucket with other all-reduces
/// fails: at compile time, for a value that is equal on all replicas already: TensorFlow returns it
///        unchanged, as if there were one replica
template <tensor_operand X>
constexpr auto all_reduce(X&& e) {
  return internal::checked_node<all_reduce_fn>(map_op<all_reduce_fn>{},
                                               as_operand<void>(std::forward<X>(e)));
}

}  // namespace LOCUS_MODE

}  // namespace locus
