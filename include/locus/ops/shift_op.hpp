// SPDX-License-Identifier: Apache-2.0
// shift_op: a tensor in pieces, read at a distance along its cut; the places of tensors.
#pragma once
#include <locus/device/policy.hpp>   // place
#include <locus/expr/let.hpp>        // Bound
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN
#include <locus/shape/range.hpp>     // range

namespace locus {

/// means: r[i] = x[i + By] along Axis, the cut axis of a tensor whose margins hold the rows beyond
///        the ends
template <int Axis, int By>
struct shift_op {
  LOCUS_BUILTIN("slice")
  static constexpr step_kind kind = step_kind::slice;
  template <class T>
  using result = T;
  static constexpr shape infer(shape a) { return a; }
  template <class T>
  static constexpr void describe(step& s, int) {
    s.axes = axis_set(1u << Axis), s.dense = false;
    s.front[Axis] = static_cast<signed char>(By), s.back[Axis] = static_cast<signed char>(-By);
  }
  range whole[max_rank]{};
  void bind(binder& b) const { b.objects[b.at] = whole; }
};

namespace internal {

/// the place of a tensor, or of a tensor with a name, with its margins; nowhere for other values
template <class E>
inline constexpr place place_of_tensor{};
template <class T, class E, class Policy, class Source>
inline constexpr place place_of_tensor<Leaf<T, E, Policy, Source>> = Policy::value;
template <class Id, class E>
inline constexpr place place_of_tensor<Bound<Id, E>> = place_of_tensor<E>;

}  // namespace internal
}  // namespace locus
