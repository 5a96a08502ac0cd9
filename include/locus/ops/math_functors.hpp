// SPDX-License-Identifier: Apache-2.0
// The functors of mathematical functions. On the host exp, log, sin and their kin are the vector
// functions of simd/, one element as many: a result does not depend on where an element lies. On
// GPUs, and where there is no vector function, they are those of the C library.
#pragma once
#include <cstdint>      // uint32_t
#include <type_traits>  // conditional

#include <locus/core/config.hpp>     // LOCUS_HOST_DEVICE, LOCUS_MATH, LOCUS_BY_SIDE
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN
#include <locus/shape/element.hpp>   // promote_t
#include <locus/simd/math_exp.hpp>   // vector_exp
#include <locus/simd/math_log.hpp>   // vector_log
#include <locus/simd/math_sin.hpp>   // vector_sin

namespace locus {

#define LOCUS_MATH_FUNCTOR(functor, in_float, in_double)                                     \
  struct functor##_fn {                                                                      \
    LOCUS_BUILTIN(#functor)                                                                  \
    LOCUS_HOST_DEVICE float operator()(float a) const { return LOCUS_MATH(in_float)(a); }    \
    LOCUS_HOST_DEVICE double operator()(double a) const { return LOCUS_MATH(in_double)(a); } \
  };
LOCUS_MATH_FUNCTOR(sqrt, sqrtf, sqrt)
LOCUS_MATH_FUNCTOR(tan, tanf, tan)
LOCUS_MATH_FUNCTOR(asin, asinf, asin)
LOCUS_MATH_FUNCTOR(acos, acosf, acos)
LOCUS_MATH_FUNCTOR(atan, atanf, atan)
LOCUS_MATH_FUNCTOR(sinh, sinhf, sinh)
LOCUS_MATH_FUNCTOR(cosh, coshf, cosh)
LOCUS_MATH_FUNCTOR(asinh, asinhf, asinh)
LOCUS_MATH_FUNCTOR(acosh, acoshf, acosh)
LOCUS_MATH_FUNCTOR(atanh, atanhf, atanh)
LOCUS_MATH_FUNCTOR(erf, erff, erf)
LOCUS_MATH_FUNCTOR(erfc, erfcf, erfc)
LOCUS_MATH_FUNCTOR(cbrt, cbrtf, cbrt)
LOCUS_MATH_FUNCTOR(floor, floorf, floor)
LOCUS_MATH_FUNCTOR(ceil, ceilf, ceil)
LOCUS_MATH_FUNCTOR(trunc, truncf, trunc)
LOCUS_MATH_FUNCTOR(round, rintf, rint)  // halves to the even neighbour, as in NumPy
#undef LOCUS_MATH_FUNCTOR

// By a vector function on the host. Its code depends on the instructions of the unit, so does the
// name of the operator.
#define LOCUS_VECTOR_FUNCTOR(functor, in_float, in_double)                          \
  struct functor##_fn {                                                             \
    LOCUS_BUILTIN(#functor)                                                         \
    template <class Mode = mode>                                                    \
    LOCUS_HOST_DEVICE float operator()(float a) const {                             \
      return LOCUS_BY_SIDE(in_float, simd::by_element<simd::vector_##functor>(a));  \
    }                                                                               \
    template <class Mode = mode>                                                    \
    LOCUS_HOST_DEVICE double operator()(double a) const {                           \
      return LOCUS_BY_SIDE(in_double, simd::by_element<simd::vector_##functor>(a)); \
    }                                                                               \
  };
LOCUS_VECTOR_FUNCTOR(exp, ::expf(a), ::exp(a))
LOCUS_VECTOR_FUNCTOR(exp2, ::exp2f(a), ::exp2(a))
LOCUS_VECTOR_FUNCTOR(expm1, ::expm1f(a), ::expm1(a))
LOCUS_VECTOR_FUNCTOR(log, ::logf(a), ::log(a))
LOCUS_VECTOR_FUNCTOR(log2, ::log2f(a), ::log2(a))
LOCUS_VECTOR_FUNCTOR(log10, ::log10f(a), ::log10(a))
LOCUS_VECTOR_FUNCTOR(log1p, ::log1pf(a), ::log1p(a))
LOCUS_VECTOR_FUNCTOR(sin, ::sinf(a), ::sin(a))
LOCUS_VECTOR_FUNCTOR(cos, ::cosf(a), ::cos(a))
LOCUS_VECTOR_FUNCTOR(tanh, ::tanhf(a), ::tanh(a))
LOCUS_VECTOR_FUNCTOR(sigmoid, 1 / (1 + ::expf(-a)), 1 / (1 + ::exp(-a)))
#undef LOCUS_VECTOR_FUNCTOR

#define LOCUS_MATH_FUNCTOR_OF_TWO(functor, in_float, in_double)                       \
  struct functor##_fn {                                                               \
    LOCUS_BUILTIN(#functor)                                                           \
    template <class Lhs, class Rhs>                                                   \
      requires is_floating_v<promote_t<Lhs, Rhs>>                                     \
    LOCUS_HOST_DEVICE promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {            \
      using T = promote_t<Lhs, Rhs>;                                                  \
      if constexpr (std::is_same_v<T, float>)                                         \
        return LOCUS_MATH(in_float)(a, b);                                            \
      else                                                                            \
        return LOCUS_MATH(in_double)(static_cast<double>(a), static_cast<double>(b)); \
    }                                                                                 \
  };
LOCUS_MATH_FUNCTOR_OF_TWO(atan2, atan2f, atan2)
LOCUS_MATH_FUNCTOR_OF_TWO(pow, powf, pow)
LOCUS_MATH_FUNCTOR_OF_TWO(hypot, hypotf, hypot)
#undef LOCUS_MATH_FUNCTOR_OF_TWO

struct reciprocal_fn {
  LOCUS_BUILTIN("reciprocal")
  template <class T>
    requires is_floating_v<T>
  LOCUS_HOST_DEVICE constexpr T operator()(T a) const {
    return T(1) / a;
  }
};
/// means: 1 / sqrt(a)
struct rsqrt_fn {
  LOCUS_BUILTIN("rsqrt")
  template <class T>
    requires is_floating_v<T>
  LOCUS_HOST_DEVICE T operator()(T a) const {
    return T(1) / sqrt_fn{}(a);
  }
};
/// means: 1, -1, or a itself where it is 0 or NaN
struct sign_fn {
  LOCUS_BUILTIN("sign")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(T a) const {
    return a > T(0) ? T(1) : a < T(0) ? static_cast<T>(-1) : a;
  }
};

// By the bits, which -ffast-math leaves alone. r: |a|'s bits; inf: those of infinity
#define LOCUS_CLASS_FUNCTOR(functor, condition)                                   \
  struct functor##_fn {                                                           \
    LOCUS_BUILTIN(#functor)                                                       \
    template <class T>                                                            \
      requires is_floating_v<T>                                                   \
    LOCUS_HOST_DEVICE constexpr bool operator()(T a) const {                      \
      using B = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>; \
      constexpr B inf = sizeof(T) == 4 ? B(0x7f800000) : B(0x7ff0000000000000);   \
      B const r = __builtin_bit_cast(B, a) & static_cast<B>(~B(0) >> 1);          \
      return condition;                                                           \
    }                                                                             \
  };
LOCUS_CLASS_FUNCTOR(isnan, r > inf)
LOCUS_CLASS_FUNCTOR(isinf, r == inf)
LOCUS_CLASS_FUNCTOR(isfinite, r < inf)
#undef LOCUS_CLASS_FUNCTOR

}  // namespace locus
