// SPDX-License-Identifier: Apache-2.0
// From the adjoint of a result to those of the operands: one struct for each kind of operation.
#pragma once
#include <locus/grad/derivatives.hpp>    // derivative
#include <locus/grad/stop_gradient.hpp>  // stop_gradient_op
#include <locus/grad/windows.hpp>        // window_back, shift_back
#include <locus/ops/call.hpp>            // call_op
#include <locus/ops/concatenate.hpp>     // concatenate_op
#include <locus/ops/matmul.hpp>          // matmul_op
#include <locus/ops/on.hpp>              // on_op
#include <locus/ops/softmax.hpp>         // softmax_op
#include <locus/ops/spread.hpp>          // spread_op
#include <locus/ops/statistics.hpp>      // variance_op

namespace locus {

/// means: the pullback of operation Op; an operation without a specialisation has no gradient
///     reads(k)                   the values that the adjoint of operand k reads: itself, ...
///     uses(active)               how many times the adjoints of those operands read g
///     of<k>(op, g, y, x...)      the adjoint of operand k, given that of y, g; it may be smaller
///                                than x_k where it is equal along an axis
template <class Op>
struct pullback;

namespace detail {

template <class F>
concept has_row = requires { derivative<F>::reads(0); };
/// A functor of the program: its derivative(y, x...) returns one partial derivative, or a pack.
template <class F, class Y, class... Xs>
concept gives_derivative =
    requires(F const& f, Y const& y, Xs const&... xs) { f.derivative(y, xs...); };

/// The operation of a call: its pullback(g, y, x...) returns the adjoints of its operands as
/// expressions, one or a pack. pullback<Id>(...) may use Id to name a let inside.
template <class Op, class Id, class G, class Y, class... Xs>
concept gives_named_pullback = requires(Op const& op, G const& g, Y const& y, Xs const&... xs) {
  op.template pullback<Id>(g, y, xs...);
};
template <class Op, class Id, class G, class Y, class... Xs>
concept gives_pullback =
    gives_named_pullback<Op, Id, G, Y, Xs...> ||
    requires(Op const& op, G const& g, Y const& y, Xs const&... xs) { op.pullback(g, y, xs...); };

template <int K, class D>
constexpr auto const& kth_partial(D const& d) {
  if constexpr (expression<D> || tensor<D>)
    return d;
  else
    return get<K>(d);
}

template <class D>
constexpr auto copied(D const& d) {
  return as_operand<void>(d);
}

}  // namespace detail

// ---- element-wise ----
template <class F>
struct pullback<map_op<F>> {
  static constexpr unsigned reads(int k) {
    if constexpr (detail::has_row<F>)
      return derivative<F>::reads(k);
    else
      return derivatives::everything;
  }
  static constexpr int uses(unsigned active) { return __builtin_popcount(active); }
  template <int K, class G, class Y, class... Xs>
  static constexpr auto of(map_op<F> const& op, G const& g, Y const& y, Xs const&... xs)
    requires(detail::has_row<F> || detail::gives_derivative<F, Y, Xs...>)
  {
    if constexpr (detail::has_row<F>)
      return derivative<F>::template of<K>(g, y, xs...);
    else
      return detail::times(
          g, as_operand<typename Y::value_type>(detail::kth_partial<K>(op.f.derivative(y, xs...))));
  }
};

// ---- reductions ----
template <class Fn, reduction R, bool Keep, int... Axes>
struct pullback<reduce_op<Fn, R, Keep, Axes...>> {
  static constexpr bool is_extremum = R == reduction::max || R == reduction::min;
  static constexpr bool multiplies = R == reduction::product;
  static constexpr unsigned reads(int) {
    return is_extremum || multiplies ? derivatives::itself | derivatives::first
                                     : derivatives::nothing;
  }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(reduce_op<Fn, R, Keep, Axes...> const&, G const& g, Y const& y,
                           X const& x)
    requires(is_extremum || multiplies || R == reduction::sum)
  {
    using namespace detail;
    constexpr int rank = X::pattern.rank;
    constexpr axis_set axes = axes_of<Axes...>(rank), inserted = Keep ? axis_set(0) : axes;
    auto const wide = with_axes<inserted, rank>(g);
    if constexpr (is_extremum) {  // equal extrema share the adjoint
      using T = compute_t<typename X::value_type>;
      auto const hit = x == with_axes<inserted, rank>(y);
      auto const hits = reduction_of<sum_fn, reduction::sum, true, Axes...>(cast<T>(hit));
      return where(hit, over(as_element<T>(wide), hits), 0.0);
    } else if constexpr (multiplies) {  // of one zero: the product of the others
      using T = typename X::value_type;
      auto const zero = x == 0.0;
      auto const zeros = reduction_of<sum_fn, reduction::sum, true, Axes...>(cast<T>(zero));
      auto const rest = where(zero, 1.0, x);
      auto const others = reduction_of<Fn, R, true, Axes...>(rest);
      return where(zero, where(zeros == 1.0, times(wide, others), 0.0),
                   over(times(wide, with_axes<inserted, rank>(y)), rest));
    } else if constexpr (std::is_same_v<Fn, mean_fn>) {
      shape const now = shape_now(x);
      double count = 1;
      for (int a = 0; a < now.rank; ++a)
        if (has_axis(axes, a)) count *= static_cast<double>(now.extent[a]);
      return over(as_computed(wide), count);
    } else
      return wide;
  }
};

template <bool Keep, int... Axes>
struct pullback<variance_op<Keep, Axes...>> {
  static constexpr unsigned reads(int) { return derivatives::first; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(variance_op<Keep, Axes...> const&, G const& g, Y const&, X const& x) {
    auto const squares = detail::times(x - mean<Axes...>(x, keep_dims), 2);
    using mean_op = reduce_op<mean_fn, reduction::sum, Keep, Axes...>;
    return detail::times(pullback<mean_op>::template of<0>(mean_op{}, g, x, x), squares);
  }
};

template <int Axis, bool Log>
struct pullback<softmax_op<Axis, Log>> {
  static constexpr unsigned reads(int) { return derivatives::itself; }
  static constexpr int uses(unsigned) { return 2; }
  template <int, class G, class Y, class X>
  static constexpr auto of(softmax_op<Axis, Log> const&, G const& g, Y const& y, X const&) {
    using namespace detail;
    if constexpr (Log)
      return g - exp(y) * sum_along(g, y);
    else
      return y * (g - sum_along(g * y, y));
  }

 private:
  /// means: the sum along Axis, which stays with extent 1
  template <class G, class Y>
  static constexpr auto sum_along(G const& g, Y const& y) {
    using namespace detail;
    constexpr int rank = Y::pattern.rank, axis = Axis < 0 ? Axis + rank : Axis;
    constexpr int from_right = rank - 1 - axis;
    if constexpr (is_narrow(G::pattern, Y::pattern, from_right))
      return times(as_computed(g), static_cast<double>(shape_now(y).extent[axis]));
    else
      return sum_from_right<axis_set(1u << from_right), true>(g);
  }
};

// ---- products of matrices ----
template <>
struct pullback<matmul_op> {
  static constexpr unsigned reads(int k) {
    return k == 0 ? derivatives::second : derivatives::first;
  }
  static constexpr int uses(unsigned active) { return __builtin_popcount(active); }
  template <int K, class G, class Y, class A, class B>
  static constexpr auto of(matmul_op const&, G const& g, Y const& y, A const& a, B const& b) {
    using namespace detail;
    auto const all = filled(g, y);
    if constexpr (K == 0)
      return over_batch(matmul(all, turned(b)), a, b);
    else
      return over_batch(matmul(turned(a), all), b, a);
  }

 private:
  template <class X>
  static constexpr auto turned(X const& x) {
    if constexpr (X::pattern.rank == 3)
      return transpose<0, 2, 1>(x);
    else
      return transpose(x);
  }
  /// means: the adjoint of x, summed over the batch if x is one matrix for all of it
  template <class G, class X, class Other>
  static constexpr auto over_batch(G const& g, X const& x, Other const& other) {
    using namespace detail;
    constexpr shape xs = X::pattern, os = Other::pattern;
    if constexpr (xs.rank == 3 && os.rank == 3) {
      if constexpr (xs.extent[0] == 1 && os.extent[0] != 1)
        return sum<0>(g, keep_dims);
      else {
        if constexpr (xs.extent[0] == dyn) {
          shape const now = shape_now(x), with = shape_now(other);
          if (now.extent[0] == 1 && with.extent[0] != 1) refuse_hidden_stretch(now, with);
        }
        return g;
      }
    } else if constexpr (xs.rank == 2 && os.rank == 3)
      return sum<0>(g);
    else
      return g;
  }
};

// ---- views ----
template <int... Order>
struct pullback<transpose_op<Order...>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(transpose_op<Order...> const&, G const& g, Y const& y, X const&) {
    if constexpr (G::pattern.rank == 0)
      return g;
    else
      return back(detail::filled(g, y), std::make_index_sequence<sizeof...(Order)>{});
  }

 private:
  static constexpr int came_from(int axis) {
    int const order[] = {Order..., 0};
    int k = 0;
    while (order[k] != axis) ++k;
    return k;
  }
  template <class G, std::size_t... K>
  static constexpr auto back(G const& g, std::index_sequence<K...>) {
    return transpose<came_from(int(K))...>(g);
  }
};

template <>
struct pullback<columns_op> : pullback<transpose_op<>> {};

template <int Axis>
struct pullback<expand_op<Axis>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(expand_op<Axis> const&, G const& g, Y const&, X const&) {
    constexpr int from_right = Y::pattern.rank - 1 - expand_op<Axis>::axis_of(X::pattern.rank);
    if constexpr (from_right >= G::pattern.rank)
      return g;
    else
      return detail::sum_from_right<axis_set(1u << from_right), false>(g);
  }
};

template <int Axis>
struct pullback<at_op<Axis>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(at_op<Axis> const& op, G const& g, Y const& y, X const& x) {
    using Slice = slice_op<axis_set(1u << Axis)>;
    Slice slice;
    slice.ranges[Axis] = op.range_along(Axis);
    auto const whole = expand_dims<Axis>(detail::filled(g, y));
    return pullback<Slice>::template of<0>(slice, whole, whole, x);
  }
};

template <class E>
struct pullback<reshape_op<E>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(reshape_op<E> const&, G const& g, Y const& y, X const& x) {
    if constexpr (G::pattern.rank == 0)
      return g;
    else
      return reshape(detail::filled(g, y), internal::extents_now(x));
  }
};

template <axis_set Cut, std::int64_t... Static>
struct pullback<slice_op<Cut, Static...>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(slice_op<Cut, Static...> const& op, G const& g, Y const& y, X const& x) {
    constexpr int cut = X::pattern.rank - 1 - detail::cut_of<X>.from_right;
    auto const all = detail::filled(g, y);
    if constexpr (cut < X::pattern.rank && has_axis(Cut, cut) && sizeof...(Static) > 0) {
      constexpr int begin = int(internal::static_range<Cut, Static...>(cut).begin);
      constexpr int from_right = X::pattern.rank - 1 - cut, span = detail::cut_of<X>.span;
      auto const rows = detail::window_back<from_right, begin>(all, x);
      shape whole = internal::shape_now(x);
      auto const back = padded<0, cut>(op, rows, whole);
      if constexpr (span == 0)
        return back;
      else
        return slice<cut, 0, -span>(back);
    } else
      return padded<0, -1>(op, all, internal::shape_now(x));
  }

 private:
  /// means: g with zeros before and after it along Axis and later axes but for `Done`, up to the
  ///        extents of `whole`
  template <int Axis, int Done, class G>
  static constexpr auto padded(slice_op<Cut, Static...> const& op, G const& g, shape const& whole) {
    using T = typename G::value_type;
    constexpr int rank = G::pattern.rank;
    if constexpr (Axis == rank)
      return g;
    else if constexpr (!has_axis(Cut, Axis) || Axis == Done)
      return padded<Axis + 1, Done>(op, g, whole);
    else {
      shape before = internal::shape_now(g), after = before;
      std::int64_t const n = whole.extent[Axis], length = before.extent[Axis];
      std::int64_t const begin = range::absolute(op.ranges[Axis].begin, n);
      before.extent[Axis] = begin, after.extent[Axis] = n - begin - length;
      return padded<Axis + 1, Done>(
          op,
          concatenate<Axis>(zeros<T>(Dextents<rank>(before)), g, zeros<T>(Dextents<rank>(after))),
          whole);
    }
  }
};

/// a tensor in pieces, read at a distance
template <int Axis, int By>
struct pullback<shift_op<Axis, By>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(shift_op<Axis, By> const&, G const& g, Y const& y, X const& x) {
    return detail::shift_back<Axis, By>(detail::filled(g, y), x);
  }
};

template <axis_set Cut>
struct pullback<strided_op<Cut>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(strided_op<Cut> const& op, G const& g, Y const& y, X const& x) {
    internal::spread_op<Cut> const spread(internal::shape_now(x), op);
    return call(spread, detail::filled(g, y));
  }
};

template <int Axis>
struct pullback<concatenate_op<Axis>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned active) { return __builtin_popcount(active); }
  template <int K, class G, class Y, class... Xs>
  static constexpr auto of(concatenate_op<Axis> const&, G const& g, Y const& y, Xs const&... xs) {
    if constexpr (G::pattern.rank == 0)
      return g;
    else {
      constexpr int axis = concatenate_op<Axis>::axis_of(Y::pattern.rank);
      std::int64_t const lengths[] = {internal::shape_now(xs).extent[axis]...};
      std::int64_t begin = 0;
      for (int k = 0; k < K; ++k) begin += lengths[k];
      using Op = slice_op<axis_set(1u << axis)>;
      Op op;
      op.ranges[axis] = {begin, begin + lengths[K]};
      return internal::checked_node<Op>(op, detail::filled(g, y));
    }
  }
};

// ---- calls ----
template <class Op>
struct pullback<call_op<Op>> {
  static constexpr unsigned reads(int) { return derivatives::everything; }
  static constexpr int uses(unsigned) { return 2; }
  template <int K, class Id, class G, class Y, class... Xs>
  static constexpr auto named(call_op<Op> const& op, G const& g, Y const& y, Xs const&... xs) {
    if constexpr (detail::gives_named_pullback<Op, Id, G, Y, Xs...>)
      return detail::copied(detail::kth_partial<K>(op.op.template pullback<Id>(g, y, xs...)));
    else
      return detail::copied(detail::kth_partial<K>(op.op.pullback(g, y, xs...)));
  }
};
/// the first result of a call with several: its adjoint goes to the call's pullback; other results
/// have none
template <class E>
struct pullback<call_result_op<0, E>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class G, class Y, class X>
  static constexpr auto of(call_result_op<0, E> const&, G const& g, Y const&, X const&) {
    return g;
  }
};

// ---- requests for a device: the adjoint is placed like any other value ----
template <int DeviceCode, bool Strict>
struct pullback<on_op<DeviceCode, Strict>> {
  static constexpr unsigned reads(int) { return derivatives::nothing; }
  static constexpr int uses(unsigned) { return 1; }
  template <int, class Op, class G, class Y, class X>
  static constexpr auto of(Op const&, G const& g, Y const&, X const&) {
    return g;
  }
};
template <int DeviceCode, bool Strict>
struct pullback<on_open_op<DeviceCode, Strict>> : pullback<on_op<DeviceCode, Strict>> {};

}  // namespace locus
