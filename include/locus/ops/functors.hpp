// SPDX-License-Identifier: Apache-2.0
// The functors of element-wise operations: the code for one element, on the host and on GPUs.
#pragma once
#include <cstdint>      // int64_t
#include <limits>       // numeric_limits
#include <type_traits>  // make_unsigned

#include <locus/core/macros.hpp>            // LOCUS_HOST_DEVICE, LOCUS_MATH
#include <locus/ops/elementwise.hpp>        // LOCUS_ELEMENTWISE_ARITHMETIC
#include <locus/ops/math_functors.hpp>      // exp_fn, ...
#include <locus/ops/operations.hpp>         // LOCUS_BUILTIN
#include <locus/ops/special_functions.hpp>  // digamma_fn, ...
#include <locus/shape/element.hpp>          // promote_t

namespace locus {

namespace detail {
// Integers wrap, as in NumPy. Signed overflow is undefined, so they are computed unsigned.
template <class T>
struct wrapping {
  using type = T;
};
template <class T>
  requires is_integer_v<T>
struct wrapping<T> {
  using type = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;
};
template <class T>
using wrapping_t = typename wrapping<T>::type;
template <class T>
LOCUS_HOST_DEVICE constexpr T wrapped_negative(T a) {
  return static_cast<T>(wrapping_t<T>(0) - static_cast<wrapping_t<T>>(a));
}
/// means: x as a T, but a real number beside complex ones as their real part's type
template <class T, class X>
LOCUS_HOST_DEVICE constexpr auto as_term(X x) {
  if constexpr (is_complex_v<T> && !is_complex_v<X>)
    return static_cast<real_t<T>>(x);
  else
    return static_cast<T>(x);
}
/// a is -1: the lowest integer divided by -1 overflows
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_minus_one(T a) {
  return std::is_signed_v<T> && static_cast<std::int64_t>(a) == -1;
}
/// means: a < 0; compilers warn of that comparison for a type without a sign
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_below_zero(T a) {
  if constexpr (std::is_unsigned_v<T>)
    return false;
  else
    return a < T(0);
}
/// a shift of T by b is one of 0, 1, ... bits
template <class T>
LOCUS_HOST_DEVICE constexpr bool is_count_of(T b) {
  return static_cast<std::make_unsigned_t<T>>(b) < 8 * sizeof(T);
}
}  // namespace detail

// One macro for each form of the column `scalar` in ops/elementwise.hpp; each row names its form.
#define LOCUS_FUNCTOR_OF_two_wrapping(functor, symbol)                               \
  struct functor##_fn {                                                              \
    LOCUS_BUILTIN(#functor)                                                          \
    template <class Lhs, class Rhs>                                                  \
    LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const { \
      using T = promote_t<Lhs, Rhs>;                                                 \
      using W = detail::wrapping_t<T>;                                               \
      return static_cast<T>(detail::as_term<W>(a) symbol detail::as_term<W>(b));     \
    }                                                                                \
  };
#define LOCUS_FUNCTOR_OF_two_comparison(functor, symbol)              \
  struct functor##_fn {                                               \
    LOCUS_BUILTIN(#functor)                                           \
    template <class Lhs, class Rhs>                                   \
    LOCUS_HOST_DEVICE constexpr bool operator()(Lhs a, Rhs b) const { \
      using T = promote_t<Lhs, Rhs>;                                  \
      return static_cast<T>(a) symbol static_cast<T>(b);              \
    }                                                                 \
  };
#define LOCUS_FUNCTOR_OF_two_common(functor, expression)                                 \
  struct functor##_fn {                                                                  \
    LOCUS_BUILTIN(#functor)                                                              \
    template <class Lhs, class Rhs>                                                      \
    LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs lhs, Rhs rhs) const { \
      using T = promote_t<Lhs, Rhs>;                                                     \
      T const a = static_cast<T>(lhs), b = static_cast<T>(rhs);                          \
      return expression;                                                                 \
    }                                                                                    \
  };
#define LOCUS_FUNCTOR_OF_one_of_numbers(functor, expression) \
  struct functor##_fn {                                      \
    LOCUS_BUILTIN(#functor)                                  \
    template <class T>                                       \
    LOCUS_HOST_DEVICE constexpr T operator()(T a) const {    \
      return expression;                                     \
    }                                                        \
  };
#define LOCUS_FUNCTOR_OF_one_of_booleans(functor, expression)                        \
  struct functor##_fn {                                                              \
    LOCUS_BUILTIN(#functor)                                                          \
    LOCUS_HOST_DEVICE constexpr bool operator()(bool a) const { return expression; } \
  };
#define LOCUS_FUNCTOR_OF_two_of_booleans(functor, expression)                                \
  struct functor##_fn {                                                                      \
    LOCUS_BUILTIN(#functor)                                                                  \
    LOCUS_HOST_DEVICE constexpr bool operator()(bool a, bool b) const { return expression; } \
  };
// rows whose functors are written below
#define LOCUS_FUNCTOR_OF_one_apart(functor)
#define LOCUS_FUNCTOR_OF_two_apart(functor)
#define LOCUS_FUNCTOR_OF_three_apart(functor)
#define LOCUS_FUNCTOR_OF_any_apart(functor)
#define LOCUS_FUNCTOR(operands, name, tensorflow, law, elements, cost, end, call, scalar, ...) \
  LOCUS_CELL(LOCUS_FUNCTOR_OF_##operands##_, name, LOCUS_BARE scalar)
LOCUS_ELEMENTWISE_ARITHMETIC(LOCUS_FUNCTOR)
#undef LOCUS_FUNCTOR
#undef LOCUS_FUNCTOR_OF_two_wrapping
#undef LOCUS_FUNCTOR_OF_two_comparison
#undef LOCUS_FUNCTOR_OF_two_common
#undef LOCUS_FUNCTOR_OF_one_of_numbers
#undef LOCUS_FUNCTOR_OF_one_of_booleans
#undef LOCUS_FUNCTOR_OF_two_of_booleans
#undef LOCUS_FUNCTOR_OF_one_apart
#undef LOCUS_FUNCTOR_OF_two_apart
#undef LOCUS_FUNCTOR_OF_three_apart
#undef LOCUS_FUNCTOR_OF_any_apart

/// means: the largest integer not above a / b, which is rounded first for floats; 0 where an integer
///        b is 0
/// after: Python's // of integers, TensorFlow's FloorDiv of floats
struct floor_div_fn {
  LOCUS_BUILTIN("floor_div")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_same_v<T, float>)
      return LOCUS_MATH(floorf)(x / y);
    else if constexpr (is_floating_v<T>)
      return LOCUS_MATH(floor)(x / y);
    else {
      if (y == T(0)) return T(0);
      if (detail::is_minus_one(y)) return detail::wrapped_negative(x);
      T const q = static_cast<T>(x / y);
      return q * y != x && detail::is_below_zero(x) != detail::is_below_zero(y)
                 ? static_cast<T>(q - 1)
                 : q;
    }
  }
};

/// means: a / b, rounded first for floats, without its fraction; 0 where an integer b is 0
/// after: C's integer division
struct trunc_div_fn {
  LOCUS_BUILTIN("trunc_div")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_same_v<T, float>)
      return LOCUS_MATH(truncf)(x / y);
    else if constexpr (is_floating_v<T>)
      return LOCUS_MATH(trunc)(x / y);
    else {
      if (y == T(0)) return T(0);
      if (detail::is_minus_one(y)) return detail::wrapped_negative(x);
      return static_cast<T>(x / y);
    }
  }
};

/// means: a / b in double for integers, in their own type for floats; 0 where an integer b is 0
struct true_div_fn {
  LOCUS_BUILTIN("true_div")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr auto operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    if constexpr (!is_integer_v<T>)
      return divide_fn{}(a, b);
    else
      return b == Rhs(0) ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

/// means: |a| with the sign of b, also of -0
struct copysign_fn {
  LOCUS_BUILTIN("copysign")
  template <class Lhs, class Rhs>
    requires is_floating_v<promote_t<Lhs, Rhs>>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    if constexpr (std::is_same_v<T, float>)
      return LOCUS_MATH(copysignf)(static_cast<T>(a), static_cast<T>(b));
    else
      return LOCUS_MATH(copysign)(static_cast<T>(a), static_cast<T>(b));
  }
};
/// means: a - b trunc(a / b) of the exact quotient; 0 where an integer b is 0     after: C's fmod, %
struct fmod_fn {
  LOCUS_BUILTIN("fmod")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    if constexpr (std::is_same_v<T, float>)
      return LOCUS_MATH(fmodf)(x, y);
    else if constexpr (is_floating_v<T>)
      return LOCUS_MATH(fmod)(x, y);
    else
      return y == T(0) || detail::is_minus_one(y) ? T(0) : static_cast<T>(x % y);
  }
};
/// means: a - b floor(a / b) of the exact quotient, with the sign of b; 0 where an integer b is 0
/// after: Python's %
struct floor_mod_fn {
  LOCUS_BUILTIN("floor_mod")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const y = static_cast<T>(b), r = fmod_fn{}(a, b);
    if constexpr (is_floating_v<T>) {
      if (r == T(0)) return copysign_fn{}(r, y);
      return (r < T(0)) != (y < T(0)) ? r + y : r;
    } else
      return r != T(0) && detail::is_below_zero(r) != detail::is_below_zero(y)
                 ? static_cast<T>(r + y)
                 : r;
  }
};

/// means: a 2^b without what is too large for T; 0 where b is below 0 or not below the bits of T
struct shift_left_fn {
  LOCUS_BUILTIN("shift_left")
  template <class Lhs, class Rhs>
    requires is_integer_v<promote_t<Lhs, Rhs>>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    return detail::is_count_of<T>(y) ? static_cast<T>(static_cast<detail::wrapping_t<T>>(x) << y)
                                     : T(0);
  }
};
/// means: the largest integer not above a / 2^b; where b is below 0 or not below the bits of T: 0,
///        or -1 of a negative a
struct shift_right_fn {
  LOCUS_BUILTIN("shift_right")
  template <class Lhs, class Rhs>
    requires is_integer_v<promote_t<Lhs, Rhs>>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    T const x = static_cast<T>(a), y = static_cast<T>(b);
    if (detail::is_count_of<T>(y)) return static_cast<T>(x >> y);
    return detail::is_below_zero(x) ? static_cast<T>(-1) : T(0);
  }
};

struct negate_fn {
  LOCUS_BUILTIN("negate")
  template <class Lhs>
  LOCUS_HOST_DEVICE constexpr Lhs operator()(Lhs a) const {
    if constexpr (is_integer_v<Lhs>)
      return detail::wrapped_negative(a);
    else
      return -a;
  }
};
struct abs_fn {
  LOCUS_BUILTIN("abs")
  template <class Lhs>
  LOCUS_HOST_DEVICE constexpr real_t<Lhs> operator()(Lhs a) const {
    if constexpr (is_complex_v<Lhs>)
      return hypot_fn{}(a.re, a.im);
    else if constexpr (std::is_same_v<Lhs, float>)
      return LOCUS_MATH(fabsf)(a);
    else if constexpr (is_floating_v<Lhs>)
      return LOCUS_MATH(fabs)(a);
    else
      return detail::is_below_zero(a) ? negate_fn{}(a) : a;
  }
};
/// means: min(max(x, low), high)
struct clamp_fn {
  LOCUS_BUILTIN("clamp")
  template <class X, class Low, class High>
  LOCUS_HOST_DEVICE constexpr auto operator()(X x, Low low, High high) const {
    return minimum_fn{}(maximum_fn{}(x, low), high);
  }
};
struct where_fn {
  LOCUS_BUILTIN("where")
  template <class Lhs, class Rhs>
  LOCUS_HOST_DEVICE constexpr promote_t<Lhs, Rhs> operator()(bool c, Lhs a, Rhs b) const {
    using T = promote_t<Lhs, Rhs>;
    return c ? static_cast<T>(a) : static_cast<T>(b);
  }
};

namespace detail {
// values, since a kernel may not call numeric_limits' functions
template <class T>
inline constexpr T lowest_of = std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T highest_of = (std::numeric_limits<T>::max)();
}  // namespace detail

/// means: a as To; from floating to integer the nearest value towards zero, held at the ends of To,
///        and 0 for NaN (what CUDA does and the C++ standard leaves open)
template <class To>
struct cast_fn {
  LOCUS_BUILTIN("cast")
  using makes = To;
  template <class From>
  static constexpr law law_for() {
    bool const widens = is_floating_v<From> && std::is_same_v<promote_t<From, To>, To>;
    return widens ? law::linear : law::none;
  }
  template <class From>
    requires(!is_complex_v<From> || is_complex_v<To> || std::is_same_v<To, bool>)
  LOCUS_HOST_DEVICE constexpr To operator()(From a) const {
    if constexpr (std::is_same_v<To, bool>)
      return a != From(0);
    else if constexpr (is_floating_v<From> && is_integer_v<To>) {
      constexpr To low = detail::lowest_of<To>, high = detail::highest_of<To>;
      return a != a                         ? To(0)
             : a <= static_cast<From>(low)  ? low
             : a >= static_cast<From>(high) ? high
                                            : static_cast<To>(a);
    } else
      return static_cast<To>(a);
  }
};

/// means: a b + c with one rounding
struct fma_fn {
  LOCUS_BUILTIN("fma")
  template <class A, class B, class C>
    requires is_floating_v<promote_t<promote_t<A, B>, C>>
  LOCUS_HOST_DEVICE auto operator()(A a, B b, C c) const {
    using T = promote_t<promote_t<A, B>, C>;
    if constexpr (std::is_same_v<T, double>)
      return LOCUS_MATH(fma)(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c));
    else
      return LOCUS_MATH(fmaf)(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c));
  }
};

/// means: a + b + c + ..., from the left
struct add_n_fn {
  LOCUS_BUILTIN("add_n")
  template <class Lhs>
  LOCUS_HOST_DEVICE constexpr Lhs operator()(Lhs a) const {
    return a;
  }
  template <class Lhs, class Rhs, class... More>
  LOCUS_HOST_DEVICE constexpr auto operator()(Lhs a, Rhs b, More... more) const {
    return (*this)(add_fn{}(a, b), more...);
  }
};

}  // namespace locus
