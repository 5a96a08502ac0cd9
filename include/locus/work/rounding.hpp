// SPDX-License-Identifier: Apache-2.0
// Functors for the numerics of a plan: reproducible products, which no compiler contracts with a
// sum, and relaxed quotients and roots, which are estimates. All other functors are used unchanged.
#pragma once
#include <locus/core/macros.hpp>       // LOCUS_HOST_DEVICE, LOCUS_KEEP_APART
#include <locus/core/numerics.hpp>     // numerics
#include <locus/ops/functors.hpp>      // multiply_fn
#include <locus/simd/approximate.hpp>  // relaxed_root, quotient_of_one

namespace locus::kernel {
inline namespace LOCUS_MODE {

template <class T>
LOCUS_HOST_DEVICE inline T rounded_real_product(T a, T b) {
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
/// means: a b, whose products are rounded to T: none is part of a fused multiply-add
template <class T>
LOCUS_HOST_DEVICE inline T rounded_product(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {rounded_real_product(a.re, b.re) - rounded_real_product(a.im, b.im),
            rounded_real_product(a.re, b.im) + rounded_real_product(a.im, b.re)};
  else
    return rounded_real_product(a, b);
}

struct rounded_multiply_fn {
  static constexpr operation op = multiply_fn::op;
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    return rounded_product(static_cast<T>(a), static_cast<T>(b));
  }
};
struct rounded_square_fn {
  static constexpr operation op = square_fn::op;
  template <class Lhs>
  LOCUS_HOST_DEVICE Lhs operator()(Lhs a) const {
    return rounded_product(a, a);
  }
};

/// means: a / b; for floats on the host, an estimate of the quotient
struct relaxed_divide_fn {
  static constexpr operation op = divide_fn::op;
  template <class Lhs, class Rhs, class Mode = mode>
  LOCUS_HOST_DEVICE auto operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_same_v<T, float> && simd::has_estimates)
      return LOCUS_BY_SIDE(x / y, estimated<Mode>(x, y));
    else
      return x / y;
  }

 private:
  template <class Mode>
  static float estimated(float x, float y) {
    return LOCUS_CHOSEN(simd, quotient_of_one<float>)(x, y);
  }
};
struct relaxed_sqrt_fn {
  static constexpr operation op = sqrt_fn::op;
  template <class T, class Mode = mode>
  LOCUS_HOST_DEVICE T operator()(T a) const {
    if constexpr (std::is_same_v<T, float> && simd::has_estimates)
      return LOCUS_BY_SIDE(::sqrtf(a), estimated<Mode>(a));
    else
      return sqrt_fn{}(a);
  }

 private:
  template <class Mode>
  static float estimated(float a) {
    static constexpr float (*clones[])(float) = {LOCUS_CLONES_BY(simd, by_element, relaxed_root)};
    return clones[simd::chosen_clone()](a);
  }
};

// The functor that a kernel uses for the functor F of an operation, under each numerics.
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

template <>
struct functor_under<numerics::relaxed, divide_fn> {
  using type = relaxed_divide_fn;
};
template <>
struct functor_under<numerics::relaxed, sqrt_fn> {
  using type = relaxed_sqrt_fn;
};

}  // namespace LOCUS_MODE
}  // namespace locus::kernel
