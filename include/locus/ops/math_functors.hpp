// SPDX-License-Identifier: Apache-2.0
// The functors of mathematical functions. On the host they are the vector functions of simd/, one
// element as many: a result does not depend on where an element lies. On GPUs they are those of the
// C library.
#pragma once
#include <cstdint>      // uint32_t
#include <type_traits>  // conditional

#include <locus/core/config.hpp>        // LOCUS_HOST_DEVICE, LOCUS_MATH, LOCUS_BY_SIDE
#include <locus/ops/operations.hpp>     // LOCUS_BUILTIN
#include <locus/shape/element.hpp>      // promote_t
#include <locus/simd/instructions.hpp>  // chosen_clone
#include <locus/simd/math_asin.hpp>     // vector_asin
#include <locus/simd/math_asinh.hpp>    // vector_asinh
#include <locus/simd/math_atan.hpp>     // vector_atan
#include <locus/simd/math_cbrt.hpp>     // vector_cbrt
#include <locus/simd/math_erf.hpp>      // vector_erf
#include <locus/simd/math_exp.hpp>      // vector_exp
#include <locus/simd/math_hypot.hpp>    // vector_hypot
#include <locus/simd/math_log.hpp>      // vector_log
#include <locus/simd/math_pow.hpp>      // vector_pow
#include <locus/simd/math_sin.hpp>      // vector_sin
#include <locus/simd/math_sinh.hpp>     // vector_sinh
#include <locus/simd/math_tan.hpp>      // vector_tan

namespace locus {

#define LOCUS_MATH_FUNCTOR(functor, in_float, in_double)                                     \
  struct functor##_fn {                                                                      \
    LOCUS_BUILTIN(#functor)                                                                  \
    LOCUS_HOST_DEVICE float operator()(float a) const { return LOCUS_MATH(in_float)(a); }    \
    LOCUS_HOST_DEVICE double operator()(double a) const { return LOCUS_MATH(in_double)(a); } \
  };
LOCUS_MATH_FUNCTOR(sqrt, sqrtf, sqrt)
LOCUS_MATH_FUNCTOR(floor, floorf, floor)
LOCUS_MATH_FUNCTOR(ceil, ceilf, ceil)
LOCUS_MATH_FUNCTOR(trunc, truncf, trunc)
LOCUS_MATH_FUNCTOR(round, rintf, rint)  // halves to the even neighbour, as in NumPy
#undef LOCUS_MATH_FUNCTOR

// By a vector function on the host, with the instructions that kernels run with. Its code depends on
// those of the unit, so does the name of the operator.
#define LOCUS_ELEMENT_OF(functor)                             \
 private:                                                     \
  template <class Mode, class T, class... More>               \
  static T of_element(T a, More... more) {                    \
    static constexpr T (*clones[])(T, More...) = {            \
        LOCUS_CLONES_BY(simd, by_element, vector_##functor)}; \
    return clones[simd::chosen_clone()](a, more...);          \
  }
#define LOCUS_VECTOR_FUNCTOR(functor, in_float, in_double)  \
  struct functor##_fn {                                     \
    LOCUS_BUILTIN(#functor)                                 \
    template <class Mode = mode>                            \
    LOCUS_HOST_DEVICE float operator()(float a) const {     \
      return LOCUS_BY_SIDE(in_float, of_element<Mode>(a));  \
    }                                                       \
    template <class Mode = mode>                            \
    LOCUS_HOST_DEVICE double operator()(double a) const {   \
      return LOCUS_BY_SIDE(in_double, of_element<Mode>(a)); \
    }                                                       \
                                                            \
    LOCUS_ELEMENT_OF(functor)                               \
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
LOCUS_VECTOR_FUNCTOR(tan, ::tanf(a), ::tan(a))
LOCUS_VECTOR_FUNCTOR(asin, ::asinf(a), ::asin(a))
LOCUS_VECTOR_FUNCTOR(acos, ::acosf(a), ::acos(a))
LOCUS_VECTOR_FUNCTOR(atan, ::atanf(a), ::atan(a))
LOCUS_VECTOR_FUNCTOR(sinh, ::sinhf(a), ::sinh(a))
LOCUS_VECTOR_FUNCTOR(cosh, ::coshf(a), ::cosh(a))
LOCUS_VECTOR_FUNCTOR(asinh, ::asinhf(a), ::asinh(a))
LOCUS_VECTOR_FUNCTOR(acosh, ::acoshf(a), ::acosh(a))
LOCUS_VECTOR_FUNCTOR(atanh, ::atanhf(a), ::atanh(a))
LOCUS_VECTOR_FUNCTOR(erf, ::erff(a), ::erf(a))
LOCUS_VECTOR_FUNCTOR(erfc, ::erfcf(a), ::erfc(a))
LOCUS_VECTOR_FUNCTOR(cbrt, ::cbrtf(a), ::cbrt(a))
LOCUS_VECTOR_FUNCTOR(sigmoid, 1 / (1 + ::expf(-a)), 1 / (1 + ::exp(-a)))
#undef LOCUS_VECTOR_FUNCTOR

#define LOCUS_VECTOR_FUNCTOR_OF_TWO(functor)                                   \
  struct functor##_fn {                                                        \
    LOCUS_BUILTIN(#functor)                                                    \
    template <class Lhs, class Rhs, class Mode = mode>                         \
      requires is_floating_v<promote_t<Lhs, Rhs>>                              \
    LOCUS_HOST_DEVICE promote_t<Lhs, Rhs> operator()(Lhs lhs, Rhs rhs) const { \
      using T = promote_t<Lhs, Rhs>;                                           \
      auto const a = static_cast<T>(lhs), b = static_cast<T>(rhs);             \
      if constexpr (std::is_same_v<T, float>)                                  \
        return LOCUS_BY_SIDE(::functor##f(a, b), of_element<Mode>(a, b));      \
      else                                                                     \
        return LOCUS_BY_SIDE(::functor(a, b), of_element<Mode>(a, b));         \
    }                                                                          \
                                                                               \
    LOCUS_ELEMENT_OF(functor)                                                  \
  };
LOCUS_VECTOR_FUNCTOR_OF_TWO(atan2)
LOCUS_VECTOR_FUNCTOR_OF_TWO(pow)
LOCUS_VECTOR_FUNCTOR_OF_TWO(hypot)
#undef LOCUS_VECTOR_FUNCTOR_OF_TWO
#undef LOCUS_ELEMENT_OF

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
