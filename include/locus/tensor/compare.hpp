// SPDX-License-Identifier: Apache-2.0
// equal and all_close: one answer about two tensors. (== is element-wise.)
#pragma once
#include <locus/core/config.hpp>     // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>  // operators
#include <locus/ops/math.hpp>        // abs
#include <locus/ops/reduce.hpp>      // all
#include <locus/tensor/eval.hpp>     // fetch

namespace locus {

inline namespace LOCUS_MODE {

/// means: extents agree and a[i] == b[i] for all i     cost: one number comes to the host
template <tensor_operand Lhs, tensor_operand Rhs>
bool equal(Lhs const& a, Rhs const& b, call_site site = call_site::here()) {
  return fetch(all(a == b), site);
}

/// means: |a[i] - b[i]| <= absolute + relative * |b[i]| for all i; NaN is close to nothing
/// after: numpy.allclose's formula
template <tensor_operand Lhs, tensor_operand Rhs>
bool all_close(Lhs const& a, Rhs const& b, double relative = 1e-5, double absolute = 1e-8,
               call_site site = call_site::here()) {
  using T = promote_t<element_of_t<Lhs>, element_of_t<Rhs>>;
  static_assert(is_floating_v<T>,
                "locus: all_close compares floating-point tensors; equal(a, b) compares integers");
  return fetch(all(abs(a - b) <= static_cast<T>(absolute) + static_cast<T>(relative) * abs(b)),
               site);
}

}  // namespace LOCUS_MODE
}  // namespace locus
