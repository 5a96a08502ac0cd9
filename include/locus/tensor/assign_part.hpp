// SPDX-License-Identifier: Apache-2.0
// slice(x, r) = e: the elements of a part of a tensor.
#pragma once
#include <utility>  // forward

#include <locus/ops/generators.hpp>  // full
#include <locus/tensor/assign.hpp>   // into, run

namespace locus::internal {

/// means: each element of the part = that of the expression, or = the number
/// fails: at compile time, for a part of a constant tensor, of a temporary or of an expression, and
///        as into; shape_error, for other extents
template <class Part>
struct part_writer {
  template <class X>
  [[gnu::always_inline]] static void write(Part const& part, X&& x) {
    constexpr bool is_part_of_tensor =
        detail::is_slice_of_leaf<Part> || detail::is_window_of_leaf<Part>;
    static_assert(
        is_part_of_tensor,
        "locus: a part is written of a view, or of a Tensor that has a name, is no constant and "
        "lies on one device or in pieces; a part of a part only on one device");
    if constexpr (is_part_of_tensor) write(part, std::forward<X>(x), runtime::site_of_operator());
  }

 private:
  template <tensor_operand X>
  static void write(Part const& part, X&& x, call_site where) {
    locus::run(into(part, std::forward<X>(x)), where);
  }
  template <number X>
  static void write(Part const& part, X n, call_site where) {
    using T = typename Part::value_type;
    using E = extents_of_shape_t<pattern_of<Part>>;
    if constexpr (require_number<T, X>())
      locus::run(into(part, full<T>(E(detail::extents_of_part(part)), checked_number<T>(n))),
                 where);
  }
};

}  // namespace locus::internal
