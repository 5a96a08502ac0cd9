// SPDX-License-Identifier: Apache-2.0
// equal and all_close: one bool for two tensors. (== is element-wise.)
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>        // operators
#include <locus/ops/math.hpp>              // abs
#include <locus/ops/reduce.hpp>            // all
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/tensor/eval.hpp>           // fetch

namespace locus {

namespace detail {
template <class T>
inline constexpr double closeness_of = std::is_same_v<T, half>       ? 1e-3
                                       : std::is_same_v<T, bfloat16> ? 1.6e-2
                                                                     : 1e-5;
template <class Lhs, class Rhs>
inline constexpr double closeness =
    closeness_of<Lhs> > closeness_of<Rhs> ? closeness_of<Lhs> : closeness_of<Rhs>;
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: extents are equal and a[i] == b[i] for all i; nothing is stretched
/// cost:  copies one bool to the host
/// fails: at compile time, for known extents that do not fit
/// after: numpy.array_equal
template <tensor_operand Lhs, tensor_operand Rhs>
bool equal(Lhs const& a, Rhs const& b, call_site site = call_site::here()) {
  return internal::shape_now(as_operand<void>(a)) == internal::shape_now(as_operand<void>(b)) &&
         fetch(all(a == b), site);
}

namespace lowering {
template <class T, class Lhs, class Rhs>
bool all_close_by(Lhs const& a, Rhs const& b, T relative, T absolute, call_site site) {
  return fetch(all(abs(a - b) <= absolute + relative * abs(b)), site);
}
}  // namespace lowering

/// means: |a[i] - b[i]| <= absolute + relative * |b[i]| for all i; false where a NaN is. The
///        default of relative is 1e-5; 1e-3 where one operand is half, 1.6e-2 where one is bfloat16
/// shape: extents fit as those of a - b: an extent of 1 stretches
/// after: numpy.allclose's formula
template <tensor_operand Lhs, tensor_operand Rhs>
bool all_close(Lhs const& a, Rhs const& b,
               double relative = detail::closeness<element_of_t<Lhs>, element_of_t<Rhs>>,
               double absolute = 1e-8, call_site site = call_site::here()) {
  using T = compute_t<promote_t<element_of_t<Lhs>, element_of_t<Rhs>>>;
  static_assert(is_floating_v<T>,
                "locus: all_close compares floating-point tensors; equal(a, b) compares integers");
  T const r = static_cast<T>(relative), s = static_cast<T>(absolute);
  if constexpr (is_narrow_v<element_of_t<Lhs>> || is_narrow_v<element_of_t<Rhs>>)
    return lowering::all_close_by<T>(cast<T>(a), cast<T>(b), r, s, site);  // half is too coarse
  else
    return lowering::all_close_by<T>(a, b, r, s, site);
}

}  // namespace LOCUS_MODE
}  // namespace locus
