// SPDX-License-Identifier: Apache-2.0
// Functions from which derivatives are built. The adjoint of a value has its element type; it may
// be smaller than the value where it is equal along an axis: the adjoint of a sum's operand is one
// number.
#pragma once
#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/arithmetic.hpp>        // + - * /
#include <locus/ops/generators.hpp>        // full, ones
#include <locus/ops/math.hpp>              // cast, where
#include <locus/ops/reduce.hpp>            // sum
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/ops/views.hpp>             // expand_dims

namespace locus::detail {

template <class E>
inline constexpr bool is_number = false;
template <class T>
inline constexpr bool is_number<Scalar<T>> = true;
template <class E>
inline constexpr bool is_negative = false;
template <class X>
inline constexpr bool is_negative<Node<map_op<negate_fn>, X>> = true;
/// the expression is computed when it is read; if it is read twice, a let saves one computation
template <class E>
inline constexpr bool is_computed = false;
template <class Op, class... Operands>
inline constexpr bool is_computed<Node<Op, Operands...>> = true;

// ---- arithmetic that folds two numbers at once, without a step of the plan ----
inline namespace LOCUS_MODE {

#define LOCUS_FOLDED(function, symbol)                                          \
  template <class A, expression B>                                              \
  constexpr auto function(A const& a, B const& b) {                             \
    if constexpr (is_number<A> && is_number<B>)                                 \
      return Scalar<promote_t<typename A::value_type, typename B::value_type>>{ \
          a.value symbol b.value};                                              \
    else                                                                        \
      return a symbol b;                                                        \
  }                                                                             \
  template <class A>                                                            \
  constexpr auto function(A const& a, double b) {                               \
    using T = typename A::value_type;                                           \
    return function(a, Scalar<T>{static_cast<T>(b)});                           \
  }
LOCUS_FOLDED(plus, +)
LOCUS_FOLDED(times, *)
LOCUS_FOLDED(over, /)
#undef LOCUS_FOLDED
template <class A>
constexpr auto minus(A const& a) {
  if constexpr (is_number<A>)
    return A{-a.value};
  else if constexpr (is_negative<A>)
    return get<0>(a.operands);
  else
    return -a;
}
template <class T, class A>
constexpr auto as_element(A const& a) {
  if constexpr (std::is_same_v<T, typename A::value_type>)
    return a;
  else if constexpr (is_number<A>)
    return Scalar<T>{static_cast<T>(a.value)};
  else
    return cast<T>(a);
}
/// means: g in the type in which kernels compute; it holds counts of elements that half does not hold
template <class G>
constexpr auto as_computed(G const& g) {
  return as_element<compute_t<typename G::value_type>>(g);
}

}  // namespace LOCUS_MODE

// ---- extents ----

/// means: along the i-th axis from the right, one element of an adjoint of pattern g stands for all
///        elements of a value of pattern y
constexpr bool is_narrow(shape const& g, shape const& y, int i) {
  return i >= g.rank || (g.extent[g.rank - 1 - i] == 1 && y.from_right(i) != 1);
}
constexpr bool is_narrow(shape const& g, shape const& y) {
  for (int i = 0; i < y.rank; ++i)
    if (is_narrow(g, y, i)) return true;
  return false;
}

}  // namespace locus::detail

namespace locus::internal {

/// means: a tensor on several replicas is a leaf of E
template <class E>
inline constexpr bool reads_replicas = false;
template <class T, class E, class Policy, class Source>
inline constexpr bool reads_replicas<Leaf<T, E, Policy, Source>> = Policy::value.is_distributed();
template <class Id, class E>
inline constexpr bool reads_replicas<Bound<Id, E>> = reads_replicas<E>;
template <class Op, class... Operands>
inline constexpr bool reads_replicas<Node<Op, Operands...>> = (reads_replicas<Operands> || ...);

}  // namespace locus::internal

namespace locus::detail {

template <axis_set Axes>
inline constexpr int axis_count = __builtin_popcount(Axes);
template <axis_set Axes>
constexpr int nth_axis(int n) {
  for (int a = 0;; ++a)
    if (has_axis(Axes, a) && n-- == 0) return a;
}
inline namespace LOCUS_MODE {

/// means: the sum of g over a set of axes, which are counted from the right
template <axis_set FromRight, bool Keep, class G, std::size_t... K>
constexpr auto sum_from_right(G const& g, std::index_sequence<K...>) {
  if constexpr (FromRight == all_axes(G::pattern.rank))
    return reduction_of<sum_fn, reduction::sum, Keep>(g);
  else
    return reduction_of<sum_fn, reduction::sum, Keep, (-1 - nth_axis<FromRight>(int(K)))...>(g);
}
template <axis_set FromRight, bool Keep, class G>
constexpr auto sum_from_right(G const& g) {
  if constexpr (FromRight == 0)
    return g;
  else
    return sum_from_right<FromRight, Keep>(
        g, std::make_index_sequence<std::size_t(axis_count<FromRight>)>{});
}

/// means: g, broadcast to the extents of y; a value of its own also where g is a number, which has no
///        memory that a copy or a view could read
template <class G, class Y>
constexpr auto filled(G const& g, Y const& y) {
  using T = typename G::value_type;
  if constexpr (!is_narrow(G::pattern, Y::pattern) && !is_number<G>)
    return g;
  else if constexpr (reads_replicas<Y>)  // reads y, so that the value is sharded like y
    return where(y == y, g, g);
  else if constexpr (is_number<G>)
    return full<T>(extents_now(y), g.value);
  else
    return g * ones<T>(extents_now(y));
}

}  // namespace LOCUS_MODE

/// How an adjoint of pattern g, of a value of pattern y, becomes the adjoint of an operand of
/// pattern x that was broadcast to y. Axes are counted from the right.
struct stretching {
  axis_set dropped = 0;  // x has no such axis: sums over it
  axis_set kept = 0;     // x has extent 1 there: sums over it, keeps the axis
  axis_set counted = 0;  // g is equal along it: multiplies by its extent
};
constexpr stretching stretching_of(shape const& g, shape const& y, shape const& x) {
  stretching s;
  for (int i = 0; i < y.rank; ++i) {
    bool const missing = i >= x.rank;
    if (!missing && (x.from_right(i) != 1 || y.from_right(i) == 1)) continue;
    axis_set& set = is_narrow(g, y, i) ? s.counted : missing ? s.dropped : s.kept;
    set = static_cast<axis_set>(set | 1u << i);
  }
  return s;
}

/// means: the axes, from the right, along which an operand of pattern x may be broadcast to y
///        although its type does not say so: its extent is dyn. Only axes that an adjoint depends
///        on: that of the operand is summed over them (active), or g is equal along them
constexpr axis_set hidden_axes(shape const& g, shape const& y, shape const& x, bool active) {
  axis_set set = 0;
  for (int i = 0; i < x.rank; ++i)
    if (x.from_right(i) == dyn && (active || is_narrow(g, y, i)))
      set = static_cast<axis_set>(set | 1u << i);
  return set;
}
[[noreturn, gnu::cold]] inline void refuse_hidden_stretch(shape const& x, shape const& y) {
  message text;
  throw shape_error(text << "locus: an operand of extents " << x << " is stretched to " << y
                         << " along an axis whose extent its type leaves open, and gradients are "
                            "summed where types say so; write the extent 1 into its type, as in "
                            "reshape<1, -1>(x)");
}

inline namespace LOCUS_MODE {

template <axis_set Hidden, class X>
constexpr void refuse_if_hidden(shape const& y, X const& x) {
  if constexpr (Hidden != 0) {
    shape const now = shape_now(x);
    for (int i = 0; i < now.rank; ++i)
      if (has_axis(Hidden, i) && now.from_right(i) == 1 && y.from_right(i) != 1)
        refuse_hidden_stretch(now, y);
  }
}
/// means: at run time, no operand of an element-wise y is broadcast along an axis where its type
///        does not show it; bit k of Active: the adjoint of operand k is wanted
/// fails: shape_error
template <unsigned Active, class G, class Y, class Op, class... Xs, std::size_t... K>
constexpr void require_seen_stretches(Node<Op, Xs...> const& e, Y const& y,
                                      std::index_sequence<K...>) {
  constexpr bool any =
      ((hidden_axes(G::pattern, Y::pattern, Xs::pattern, Active >> K & 1) != 0) || ...);
  if constexpr (any && sizeof...(Xs) > 1) {
    shape const now = shape_now(y);
    if (!fits(now)) return;  // binding the plan reports the error
    (refuse_if_hidden<hidden_axes(G::pattern, Y::pattern, Xs::pattern, Active >> K & 1)>(
         now, get<K>(e.operands)),
     ...);
  }
}

/// means: the adjoint of x, which was broadcast to the extents of y: g, the adjoint of the result,
///        summed over the broadcast axes
template <class G, class Y, class X>
constexpr auto summed_back(G const& g, Y const& y, X const&) {
  constexpr stretching s = stretching_of(G::pattern, Y::pattern, X::pattern);
  auto const part = sum_from_right<s.dropped, false>(sum_from_right<s.kept, true>(g));
  if constexpr (s.counted != 0) {
    shape const now = shape_now(y);
    double count = 1;
    for (int i = 0; i < now.rank; ++i)
      if (has_axis(s.counted, i)) count *= static_cast<double>(now.from_right(i));
    return times(as_computed(part), count);
  } else
    return part;
}

/// means: g, the adjoint of a reduction's result, with axes of extent 1 at the reduced axes of the
///        operand, whose rank is Rank
template <axis_set Axes, int Rank, int At = Rank - 1, class G>
constexpr auto with_axes(G const& g) {
  if constexpr (At < 0 || G::pattern.rank == 0)
    return g;
  else if constexpr (has_axis(Axes, At) && G::pattern.rank > Rank - 1 - At)
    return with_axes<Axes, Rank, At - 1>(expand_dims<G::pattern.rank - (Rank - 1 - At)>(g));
  else
    return with_axes<Axes, Rank, At - 1>(g);
}

}  // namespace LOCUS_MODE
}  // namespace locus::detail
