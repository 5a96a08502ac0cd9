// SPDX-License-Identifier: Apache-2.0
// Derivatives of operations, from the table of ops/elementwise.hpp: for each operation the partial
// derivatives times g, the adjoint of the result, and the values that they read. The results of
// comparisons, logic, argmax, one_hot and casts to integers have no gradient. Neither have floor,
// ceil, trunc, round, sign and integer divisions: their derivative is 0 almost everywhere, which is
// useless for training.
#pragma once
#include <locus/grad/adjoint.hpp>     // times, over
#include <locus/ops/all_reduce.hpp>   // all_reduce_fn
#include <locus/ops/elementwise.hpp>  // LOCUS_ELEMENTWISE
#include <locus/ops/shards.hpp>       // all_gather_fn, per_shard_fn

namespace locus {

/// means: the derivative of functor F; a functor without a specialisation has no gradient
///     reads(k)            the values that the derivative by operand k reads: itself, first, ...
///     of<k>(g, y, x...)   g times that derivative, of y = F(x...)
template <class F>
struct derivative;

namespace derivatives {

using namespace detail;  // times, over, minus, plus

// The values that a partial derivative reads: the plan must keep them.
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
/// means: b a^(b - 1), and 0 where a and b are 0
template <class A, class B>
constexpr auto slope_of_power(A const& a, B const& b) {
  if constexpr (is_number<B>)
    return b * pow(a, plus(b, static_cast<double>(b.value) == 0 ? 0 : -1));
  else
    return b * pow(where(a == 0.0 && b == 0.0, 1.0, a), plus(b, -1));
}

}  // namespace derivatives

#define LOCUS_DERIVATIVE_OF_one_reading(functor, read, expression)     \
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
#define LOCUS_DERIVATIVE_OF_two_reading(functor, read_by_a, by_a, read_by_b, by_b)                 \
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

LOCUS_CELL(LOCUS_DERIVATIVE_OF_one_, all_reduce, reading, nothing, g)
LOCUS_CELL(LOCUS_DERIVATIVE_OF_one_, all_gather, reading, nothing, g)

#define LOCUS_DERIVATIVE_OF_one_no_gradient(functor)
#define LOCUS_DERIVATIVE_OF_two_no_gradient(functor)
#define LOCUS_DERIVATIVE_OF_three_apart(functor)
#define LOCUS_DERIVATIVE_OF_any_apart(functor)
#define LOCUS_DERIVATIVE(operands, name, tensorflow, law, elements, cost, end, call, scalar, \
                         vector, derivative)                                                 \
  LOCUS_CELL(LOCUS_DERIVATIVE_OF_##operands##_, name, LOCUS_BARE derivative)
LOCUS_ELEMENTWISE(LOCUS_DERIVATIVE)
#undef LOCUS_DERIVATIVE
#undef LOCUS_DERIVATIVE_OF_one_reading
#undef LOCUS_DERIVATIVE_OF_two_reading
#undef LOCUS_DERIVATIVE_OF_one_no_gradient
#undef LOCUS_DERIVATIVE_OF_two_no_gradient
#undef LOCUS_DERIVATIVE_OF_three_apart
#undef LOCUS_DERIVATIVE_OF_any_apart

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
/// y repeats w for each shard; the adjoint of w: the terms of all shards, added in their order
template <int V>
struct derivative<per_shard_fn<V>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  template <int, class G, class Y, class X, class Number>
  static constexpr auto of(G const& g, Y const& y, X const&, Number const&) {
    return sum<0>(all_gather(detail::filled(g, y)), keep_dims);
  }
};
/// min(max(x, low), high): x gets the adjoint in [low, high], ends included; high where low > high
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
/// from float to float; an adjoint is converted to the element type of its value
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
