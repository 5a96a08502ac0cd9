// SPDX-License-Identifier: Apache-2.0
// Variance and standard deviation of elements. A program includes this header by name;
// <locus/locus.hpp> does not.
#pragma once
#include <limits>   // quiet_NaN
#include <utility>  // forward

#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>        // *
#include <locus/ops/map.hpp>               // map_op
#include <locus/ops/math.hpp>              // square, sqrt
#include <locus/ops/reduce.hpp>            // reduce_op, keep_dims
#include <locus/ops/run_time_extents.hpp>  // shape_now

namespace locus {

/// means: m = mean x along Axes, d = x - m, r = mean d^2; of 16-bit floats m, d and d^2 are floats
/// units: r is too large by the square of m's rounding error
/// after: the algorithm of two passes (Chan, Golub, LeVeque, The American Statistician 1983)
template <bool Keep, int... Axes>
struct variance_op {
  using named = mean_fn;
  using mean_op = reduce_op<mean_fn, reduction::sum, true, Axes...>;
  using distance_op = map_op<subtract_fn>;
  using square_op = map_op<square_fn>;
  using mean_of_squares_op = reduce_op<mean_fn, reduction::sum, Keep, Axes...>;
  static constexpr int steps = 4, edges = 5;
  template <class T>
  using result = T;
  template <class T>
  using first_op = internal::resulting<mean_op, compute_t<T>, T>;
  template <class T>
  using last_op = internal::resulting<mean_of_squares_op, T, compute_t<T>>;
  template <class T>
  using entries = type_list<entry<first_op<T>, compute_t<T>>, entry<distance_op, compute_t<T>>,
                            entry<square_op, compute_t<T>>, entry<last_op<T>, T>>;
  static constexpr shape infer(shape a) { return mean_of_squares_op::infer(a); }

  template <class T>
  static constexpr short emit_steps(builder& b, request r, short const* operands) {
    using internal::emit_step;
    using M = compute_t<T>;
    short const x = operands[0];
    short const x_m[] = {x, emit_step<first_op<T>, T>(b, r, &x)};
    short const d = emit_step<distance_op, T, M>(b, r, x_m);
    short const squared = emit_step<square_op, M>(b, r, &d);
    return emit_step<last_op<T>, M>(b, r, &squared);
  }
};

/// var(x, ddof{1}): the sum of squares is divided by n - 1 instead of n elements
struct ddof {
  int value;
  constexpr explicit ddof(int less) : value(less) {}
};

namespace detail {
inline namespace LOCUS_MODE {

template <bool Keep, int... Axes, class X>
constexpr auto variance_of(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  using E = decltype(operand);
  constexpr bool axes_fit = axes_exist<Axes...>(E::pattern.rank);
  static_assert(axes_fit, "locus: a variance names an axis that its operand does not have; axes "
                          "count from 0, or from -1 backwards");
  if constexpr (axes_fit) {
    static_assert(axes_differ<Axes...>(E::pattern.rank),
                  "locus: a variance names an axis twice; name it once");
    constexpr bool floats_only = is_floating_v<typename E::value_type>;
    static_assert(floats_only, "locus: a variance is one of floats; write var(cast<float>(x))");
    if constexpr (floats_only) return make_node(variance_op<Keep, Axes...>{}, std::move(operand));
  }
}
/// n / (n - less), NaN where n is not above less
template <int... Axes, class E>
constexpr double correction(E const& x, ddof less) {
  shape const now = internal::shape_now(x);
  double n = 1;
  for (int a = 0; a < now.rank; ++a)
    if (has_axis(axes_of<Axes...>(now.rank), a)) n *= static_cast<double>(now.extent[a]);
  return n > less.value ? n / (n - less.value) : std::numeric_limits<double>::quiet_NaN();
}
template <bool Keep, int... Axes, class X>
constexpr auto corrected_variance(X&& x, ddof less) {
  auto operand = as_operand<void>(std::forward<X>(x));
  double const by = correction<Axes...>(operand, less);
  using T = typename decltype(operand)::value_type;
  return variance_of<Keep, Axes...>(std::move(operand)) * static_cast<T>(by);
}

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: m = mean of x, r = mean of (x - m)^2, over all axes or over Axes; with ddof{k} r is
///        multiplied by n / (n - k), n: the elements of one mean; var<0>(x, ddof{1}, keep_dims)
/// shape: without those axes; with keep_dims they stay with extent 1
/// device: as mean: along a cut two all-reduces
/// cost:  x is computed once, read twice: along the last axis by one launch, where a row lies in the
///        cache at the second pass; otherwise by two
/// fails: at compile time, for integers, and for an axis outside the rank
/// units: NaN over no element, and where n is not above k. n of ddof is that of the moment at which
///        the expression is made: a plan with ddof over tensors that are resized later is made again
/// after: NumPy's var; derivative 2 (x - m) / n
template <int... Axes, tensor_operand X>
constexpr auto var(X&& x) {
  return detail::variance_of<false, Axes...>(std::forward<X>(x));
}
template <int... Axes, tensor_operand X>
constexpr auto var(X&& x, keep_dims_t) {
  return detail::variance_of<true, Axes...>(std::forward<X>(x));
}
template <int... Axes, tensor_operand X>
constexpr auto var(X&& x, ddof less) {
  return detail::corrected_variance<false, Axes...>(std::forward<X>(x), less);
}
template <int... Axes, tensor_operand X>
constexpr auto var(X&& x, ddof less, keep_dims_t) {
  return detail::corrected_variance<true, Axes...>(std::forward<X>(x), less);
}

/// means: r = sqrt(var(x)), with the same arguments
/// units: its derivative where all elements are equal is NaN     after: NumPy's std
template <int... Axes, tensor_operand X, class... More>
constexpr auto standard_deviation(X&& x, More... more) {
  return sqrt(var<Axes...>(std::forward<X>(x), more...));
}

}  // namespace LOCUS_MODE
}  // namespace locus
