// SPDX-License-Identifier: Apache-2.0
// The functors of mathematical functions, from the table of ops/elementwise.hpp. On the host they
// call the vector functions of simd/, also for a single element: the bits of a result do not depend
// on the index of its element. On GPUs they call the C library.
#pragma once
#include <cstdint>      // uint32_t
#include <type_traits>  // conditional

#include <locus/core/macros.hpp>        // LOCUS_HOST_DEVICE, LOCUS_MATH, LOCUS_BY_SIDE
#include <locus/ops/elementwise.hpp>    // LOCUS_ELEMENTWISE_MATH
#include <locus/ops/operations.hpp>     // LOCUS_BUILTIN
#include <locus/shape/element.hpp>      // promote_t, complex
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

namespace detail {
/// of(z) is Functor of a complex number; ops/complex_functors.hpp has those that there are
template <class Functor>
struct complex_form {};
}  // namespace detail
/// Inside a functor: its form for complex numbers.
#define LOCUS_COMPLEX_FORM(functor)                                   \
  template <class T, class Form = detail::complex_form<functor##_fn>> \
    requires requires(complex<T> z) { Form::of(z); }                  \
  LOCUS_HOST_DEVICE complex<T> operator()(complex<T> z) const {       \
    return Form::of(z);                                               \
  }

#define LOCUS_FUNCTOR_OF_one_c_library(functor, in_float, in_double)                         \
  struct functor##_fn {                                                                      \
    LOCUS_BUILTIN(#functor)                                                                  \
    LOCUS_HOST_DEVICE float operator()(float a) const { return LOCUS_MATH(in_float)(a); }    \
    LOCUS_HOST_DEVICE double operator()(double a) const { return LOCUS_MATH(in_double)(a); } \
    LOCUS_COMPLEX_FORM(functor)                                                              \
  };

// Calls a vector function on the host, with the set of instructions that kernels use. The code
// depends on the unit's set of instructions, so the mangled name of the operator depends on it too
// (Mode).
#define LOCUS_ELEMENT_OF(functor)                             \
 private:                                                     \
  template <class Mode, class T, class... More>               \
  static T of_element(T a, More... more) {                    \
    static constexpr T (*clones[])(T, More...) = {            \
        LOCUS_CLONES_BY(simd, by_element, vector_##functor)}; \
    return clones[simd::chosen_clone()](a, more...);          \
  }
#define LOCUS_FUNCTOR_OF_one_by_vector(functor, in_float, in_double) \
  struct functor##_fn {                                              \
    LOCUS_BUILTIN(#functor)                                          \
    template <class Mode = mode>                                     \
    LOCUS_HOST_DEVICE float operator()(float a) const {              \
      return LOCUS_BY_SIDE(in_float, of_element<Mode>(a));           \
    }                                                                \
    template <class Mode = mode>                                     \
    LOCUS_HOST_DEVICE double operator()(double a) const {            \
      return LOCUS_BY_SIDE(in_double, of_element<Mode>(a));          \
    }                                                                \
    LOCUS_COMPLEX_FORM(functor)                                      \
                                                                     \
    LOCUS_ELEMENT_OF(functor)                                        \
  };

#define LOCUS_FUNCTOR_OF_two_by_vector(functor, in_float, in_double)           \
  struct functor##_fn {                                                        \
    LOCUS_BUILTIN(#functor)                                                    \
    template <class Lhs, class Rhs, class Mode = mode>                         \
      requires is_floating_v<promote_t<Lhs, Rhs>>                              \
    LOCUS_HOST_DEVICE promote_t<Lhs, Rhs> operator()(Lhs lhs, Rhs rhs) const { \
      using T = promote_t<Lhs, Rhs>;                                           \
      auto const a = static_cast<T>(lhs), b = static_cast<T>(rhs);             \
      if constexpr (std::is_same_v<T, float>)                                  \
        return LOCUS_BY_SIDE(in_float, of_element<Mode>(a, b));                \
      else                                                                     \
        return LOCUS_BY_SIDE(in_double, of_element<Mode>(a, b));               \
    }                                                                          \
                                                                               \
    LOCUS_ELEMENT_OF(functor)                                                  \
  };

#define LOCUS_FUNCTOR_OF_one_of_floats(functor, expression) \
  struct functor##_fn {                                     \
    LOCUS_BUILTIN(#functor)                                 \
    template <class T>                                      \
      requires is_floating_v<T>                             \
    LOCUS_HOST_DEVICE constexpr T operator()(T a) const {   \
      return expression;                                    \
    }                                                       \
    LOCUS_COMPLEX_FORM(functor)                             \
  };

// Tests bits, which -ffast-math does not change. r: bits of |a|; inf: bits of infinity
#define LOCUS_FUNCTOR_OF_one_class_of(functor, condition)                         \
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

#define LOCUS_FUNCTOR(operands, name, tensorflow, law, elements, cost, end, call, scalar, ...) \
  LOCUS_CELL(LOCUS_FUNCTOR_OF_##operands##_, name, LOCUS_BARE scalar)
LOCUS_ELEMENTWISE_MATH(LOCUS_FUNCTOR)
#undef LOCUS_FUNCTOR
#undef LOCUS_FUNCTOR_OF_one_c_library
#undef LOCUS_FUNCTOR_OF_one_by_vector
#undef LOCUS_FUNCTOR_OF_two_by_vector
#undef LOCUS_FUNCTOR_OF_one_of_floats
#undef LOCUS_FUNCTOR_OF_one_class_of
#undef LOCUS_ELEMENT_OF
#undef LOCUS_COMPLEX_FORM

}  // namespace locus
