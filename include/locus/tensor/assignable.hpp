// SPDX-License-Identifier: Apache-2.0
// Which values a destination accepts: those of its own element type and of its own extents, and numbers.
#pragma once
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>    // always_false
#include <locus/expr/leaf.hpp>      // tensor_base
#include <locus/expr/operand.hpp>   // tensor, number_fits_v
#include <locus/ops/map.hpp>        // shapes_do_not_fit, element_types_do_not_fit
#include <locus/shape/extents.hpp>  // Extents

namespace locus {

/// Names the assignment in the types of an error.
struct assigned;

namespace detail {
/// means: no extent that both patterns know differs; extents that are dyn are compared at binding
constexpr bool may_agree(shape const& a, shape const& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.extent[i] != b.extent[i] && a.extent[i] != dyn && b.extent[i] != dyn) return false;
  return true;
}
template <bool Same>
consteval bool same_elements() {
  static_assert(Same,
                "locus: a value of another element type is assigned; write cast<float>(e), or the "
                "type of its destination");
  return Same;
}
template <bool Agree>
consteval bool same_extents() {
  static_assert(Agree,
                "locus: the extents of a value do not fit its destination; make the tensor as "
                "large, or slice it; they are printed below");
  return Agree;
}

/// a tensor of another type than Self
template <class X, class Self>
concept tensor_besides = tensor<X> && !std::is_same_v<X, Self>;
/// a Tensor with elements T and that rank; no view
template <class X, class T, int Rank>
concept tensor_with_memory = std::is_base_of_v<tensor_base, X> &&
                             std::is_same_v<typename X::value_type, T> && X::rank() == Rank;
/// makes a constructor more constrained than the refusing one, so that overload resolution takes it
template <class X>
concept may_be_converted = true;
}  // namespace detail

/// means: each element of a destination of elements T may be a number of type X
template <class T, class X>
consteval bool require_number() {
  static_assert(number_fits_v<X, T>, "locus: a number of another kind is assigned to a tensor; "
                                     "write one of its element type");
  return number_fits_v<X, T>;
}

/// means: a destination of elements T and extents E takes the value of expression X
/// fails: at compile time: the first error is a sentence, the second prints the types
template <class T, class E, class X>
consteval bool require_takes() {
  if constexpr (internal::has_several_results<X>) internal::refuse_several_results<X>();
  if constexpr (!detail::same_elements<std::is_same_v<T, typename X::value_type>>()) {
    static_cast<void>(sizeof(element_types_do_not_fit<assigned, T, typename X::value_type>));
    return false;
  } else if constexpr (!detail::same_extents<detail::may_agree(E::pattern, X::pattern)>()) {
    static_cast<void>(sizeof(shapes_do_not_fit<assigned, E, internal::extents_of<X>>));
    return false;
  } else
    return true;
}

}  // namespace locus
