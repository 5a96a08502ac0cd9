// SPDX-License-Identifier: Apache-2.0
// Functors whose rounding a plan's numerics ask for: products that no compiler fuses into a sum, and
// approximate quotients and roots. Everything else is as it is: only a product can be contracted.
#pragma once
#include <locus/core/config.hpp>    // LOCUS_HOST_DEVICE, LOCUS_KEEP_APART
#include <locus/ops/functors.hpp>   // multiply_fn
#include <locus/plan/numerics.hpp>  // numerics

namespace locus::kernel {
inline namespace LOCUS_MODE {

/// means: a b, rounded before anything else is done with it
template <class T>
LOCUS_HOST_DEVICE inline T rounded_product(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>)
    return __fmul_rn(a, b);
  else if constexpr (std::is_same_v<T, double>)
    return __dmul_rn(a, b);
  else
    return multiply_fn{}(a, b);
#else
  T r = multiply_fn{}(a, b);
  if constexpr (is_floating_v<T>) LOCUS_KEEP_APART(r);
  return r;
#endif
}

struct rounded_multiply_fn {
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    return rounded_product(static_cast<T>(a), static_cast<T>(b));
  }
};
struct rounded_square_fn {
  template <class Lhs>
  LOCUS_HOST_DEVICE Lhs operator()(Lhs a) const {
    return rounded_product(a, a);
  }
};

// The table: numerics, functor of an operation, functor of a kernel.
template <numerics, class F>
struct functor_under {
  using type = F;
};
template <>
struct functor_under<numerics::reproducible, multiply_fn> {
  using type = rounded_multiply_fn;
};
template <>
struct functor_under<numerics::reproducible, square_fn> {
  using type = rounded_square_fn;
};

}  // namespace LOCUS_MODE
}  // namespace locus::kernel
