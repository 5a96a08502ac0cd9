// SPDX-License-Identifier: Apache-2.0
// The table of derivatives: for each element-wise operation its partial derivatives times g, the
// adjoint of its result, and what they read. Comparisons, logic, argmax, one_hot and casts to integers
// make values that have no gradient; floor, ceil, trunc, round, sign and the divisions of integers have
// no row: their derivative is 0 almost everywhere, and no training is meant by that.
#pragma once
#include <locus/grad/adjoint.hpp>    // times, over
#include <locus/ops/all_reduce.hpp>  // all_reduce_fn
#include <locus/ops/shards.hpp>      // all_gather_fn, per_shard_fn

namespace locus {

/// means: how gradients pass the functor F; a functor without a row lets none pass
///     reads(k)            what the partial derivative by operand k reads: itself, first, second, third
///     of<k>(g, y, x...)   g times that derivative, of y = F(x...)
template <class F>
struct derivative;

namespace derivatives {

using namespace detail;  // times, over, minus, plus

// What a partial derivative reads, so that a plan keeps it.
inline constexpr unsigned nothing = 0, itself = 1, first = 2, second = 4, third = 8;
inline constexpr unsigned everything = ~0u;
constexpr unsigned operand(int k) { return 2u << k; }

/// means: g where the condition holds, 0 elsewhere
template <class C, class G>
constexpr auto only_where(C const& condition, G const& g) {
  return where(condition, g, 0.0);
}
template <class C, class G>
constexpr auto except_where(C const& condition, G const& g) {
  return where(condition, 0.0, g);
}

}  // namespace derivatives

#define LOCUS_DERIVATIVE(functor, read, expression)                    \
  template <>                                                          \
  struct derivative<functor##_fn> {                                    \
    static constexpr unsigned reads(int) { return derivatives::read; } \
    template <int, class G, class Y, class X>                          \
    static constexpr auto of(G const& g, [[maybe_unused]] Y const& y,  \
                             [[maybe_unused]] X const& x) {            \
      using namespace derivatives;                                     \
      return expression;                                               \
    }                                                                  \
  };
#define LOCUS_DERIVATIVES(functor, read_by_a, by_a, read_by_b, by_b)                               \
  template <>                                                                                      \
  struct derivative<functor##_fn> {                                                                \
    static constexpr unsigned reads(int k) {                                                       \
      using namespace derivatives;                                                                 \
      return k == 0 ? (read_by_a) : (read_by_b);                                                   \
    }                                                                                              \
    template <int K, class G, class Y, class A, class B>                                           \
    static constexpr auto of(G const& g, [[maybe_unused]] Y const& y, [[maybe_unused]] A const& a, \
                             [[maybe_unused]] B const& b) {                                        \
      using namespace derivatives;                                                                 \
      if constexpr (K == 0)                                                                        \
        return by_a;                                                                               \
      else                                                                                         \
        return by_b;                                                                               \
    }                                                                                              \
  };

// clang-format off
//               y =           reads     g dy/dx
LOCUS_DERIVATIVE(identity,     nothing,  g)
LOCUS_DERIVATIVE(all_reduce,   nothing,  g)
LOCUS_DERIVATIVE(all_gather,   nothing,  g)
LOCUS_DERIVATIVE(negate,       nothing,  minus(g))
LOCUS_DERIVATIVE(abs,          first,    times(g, sign(x)))                        // 0 at 0
LOCUS_DERIVATIVE(square,       first,    times(times(g, 2), x))
LOCUS_DERIVATIVE(reciprocal,   itself,   times(minus(g), square(y)))
LOCUS_DERIVATIVE(sqrt,         itself,   over(times(g, 0.5), y))                   // infinite at 0
LOCUS_DERIVATIVE(rsqrt,        itself,   times(times(g, -0.5), y * square(y)))
LOCUS_DERIVATIVE(cbrt,         itself,   over(over(g, 3), square(y)))
LOCUS_DERIVATIVE(exp,          itself,   times(g, y))
LOCUS_DERIVATIVE(exp2,         itself,   times(times(g, 0.69314718055994530942), y))
LOCUS_DERIVATIVE(expm1,        itself,   times(g, y + 1.0))
LOCUS_DERIVATIVE(log,          first,    over(g, x))
LOCUS_DERIVATIVE(log2,         first,    over(times(g, 1.44269504088896340736), x))
LOCUS_DERIVATIVE(log10,        first,    over(times(g, 0.43429448190325182765), x))
LOCUS_DERIVATIVE(log1p,        first,    over(g, x + 1.0))
LOCUS_DERIVATIVE(sin,          first,    times(g, cos(x)))
LOCUS_DERIVATIVE(cos,          first,    times(minus(g), sin(x)))
LOCUS_DERIVATIVE(tan,          itself,   times(g, square(y) + 1.0))
LOCUS_DERIVATIVE(asin,         first,    over(g, sqrt((1.0 - x) * (1.0 + x))))
LOCUS_DERIVATIVE(acos,         first,    over(minus(g), sqrt((1.0 - x) * (1.0 + x))))
LOCUS_DERIVATIVE(atan,         first,    over(g, square(x) + 1.0))
LOCUS_DERIVATIVE(sinh,         first,    times(g, cosh(x)))
LOCUS_DERIVATIVE(cosh,         first,    times(g, sinh(x)))
LOCUS_DERIVATIVE(tanh,         itself,   times(g, 1.0 - square(y)))
LOCUS_DERIVATIVE(asinh,        first,    over(g, sqrt(square(x) + 1.0)))
LOCUS_DERIVATIVE(acosh,        first,    over(g, sqrt((x - 1.0) * (x + 1.0))))
LOCUS_DERIVATIVE(atanh,        first,    over(g, (1.0 - x) * (1.0 + x)))
LOCUS_DERIVATIVE(sigmoid,      itself,   times(g, y * (1.0 - y)))
LOCUS_DERIVATIVE(erf,          first,    times(times(g, 1.12837916709551257390), exp(-square(x))))
LOCUS_DERIVATIVE(erfc,         first,    times(times(g, -1.12837916709551257390), exp(-square(x))))
LOCUS_DERIVATIVE(relu,         itself,   only_where(y > 0.0, g))                   // 0 at 0

//                y =          reads            g dy/da                   reads            g dy/db
LOCUS_DERIVATIVES(add,         nothing,         g,                        nothing,         g)
LOCUS_DERIVATIVES(subtract,    nothing,         g,                        nothing,         minus(g))
LOCUS_DERIVATIVES(multiply,    second,          times(g, b),              first,           times(g, a))
LOCUS_DERIVATIVES(divide,      second,          over(g, b),               itself | second, over(times(minus(g), y), b))
LOCUS_DERIVATIVES(true_div,    second,          over(g, b),               itself | second, over(times(minus(g), y), b))
LOCUS_DERIVATIVES(maximum,     first | second,  only_where(a >= b, g),    first | second,  except_where(a >= b, g))  // ties: the first
LOCUS_DERIVATIVES(minimum,     first | second,  only_where(a <= b, g),    first | second,  except_where(a <= b, g))
LOCUS_DERIVATIVES(pow,         first | second,  times(g, b * pow(a, plus(b, -1))),
                               itself | first,  times(g, y * where(a > 0.0, log(a), 0.0)))
LOCUS_DERIVATIVES(atan2,       first | second,  over(times(g, b), square(a) + square(b)),
                               first | second,  over(times(minus(g), a), square(a) + square(b)))
LOCUS_DERIVATIVES(hypot,       itself | first,  over(times(g, a), y),     itself | second, over(times(g, b), y))
// clang-format on
#undef LOCUS_DERIVATIVE
#undef LOCUS_DERIVATIVES

/// a b + c
template <>
struct derivative<fma_fn> {
  static constexpr unsigned reads(int k) {
    return k == 0 ? derivatives::second : k == 1 ? derivatives::first : derivatives::nothing;
  }
  template <int K, class G, class Y, class A, class B, class C>
  static constexpr auto of(G const& g, Y const&, A const& a, B const& b, C const&) {
    if constexpr (K == 0)
      return detail::times(g, b);
    else if constexpr (K == 1)
      return detail::times(g, a);
    else
      return g;
  }
};
/// a where c holds, else b
template <>
struct derivative<where_fn> {
  static constexpr unsigned reads(int) { return derivatives::first; }
  template <int K, class G, class Y, class C, class A, class B>
  static constexpr auto of(G const& g, Y const&, C const& c, A const&, B const&) {
    if constexpr (K == 1)
      return derivatives::only_where(c, g);
    else
      return derivatives::except_where(c, g);
  }
};
/// w once for each shard: the terms of the shards, added in their order
template <int V>
struct derivative<per_shard_fn<V>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  template <int, class G, class Y, class X, class Number>
  static constexpr auto of(G const& g, Y const& y, X const&, Number const&) {
    return sum<0>(all_gather(detail::filled(g, y)), keep_dims);
  }
};
/// min(max(x, low), high); at both ends x; high where low is above it
template <>
struct derivative<clamp_fn> {
  static constexpr unsigned reads(int) {
    return derivatives::first | derivatives::second | derivatives::third;
  }
  template <int K, class G, class Y, class X, class Low, class High>
  static constexpr auto of(G const& g, Y const&, X const& x, Low const& low, High const& high) {
    if constexpr (K == 0)
      return derivatives::only_where(x >= low && x <= high, g);
    else if constexpr (K == 1)
      return derivatives::only_where(x < low && low <= high, g);
    else
      return derivatives::only_where(x > high || low > high, g);
  }
};
/// from float to float; an adjoint takes the element type of its value
template <class To>
struct derivative<cast_fn<To>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  template <int, class G, class Y, class X>
  static constexpr auto of(G const& g, Y const&, X const&) {
    return g;
  }
};
template <>
struct derivative<add_n_fn> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  template <int, class G, class Y, class... X>
  static constexpr auto of(G const& g, Y const&, X const&...) {
    return g;
  }
};

}  // namespace locus
