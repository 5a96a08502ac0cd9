// SPDX-License-Identifier: Apache-2.0
// Operations that give other extents or strides to the same memory: transpose, expand_dims,
// reshape, slice; at, whose functions stand in at.hpp.
#pragma once
#include <utility>  // forward, index_sequence

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/ops/map.hpp>         // checked_node
#include <locus/ops/operations.hpp>  // LOCUS_BUILTIN
#include <locus/shape/range.hpp>     // range

namespace locus {

// ---- transpose ----
/// means: r[i...] = x[i permuted]; without Order all axes are reversed
template <int... Order>
struct transpose_op {
  LOCUS_BUILTIN("transpose")
  static constexpr step_kind kind = step_kind::transpose;
  template <class T>
  using result = T;
  static constexpr bool order_of(int rank, signed char* out) {
    signed char const given[] = {static_cast<signed char>(Order)..., 0};
    unsigned seen = 0;
    for (int i = 0; i < rank; ++i) {
      out[i] = sizeof...(Order) == 0 ? static_cast<signed char>(rank - 1 - i) : given[i];
      if (out[i] < 0 || out[i] >= rank) return false;
      seen |= 1u << out[i];
    }
    return (sizeof...(Order) == 0 || int(sizeof...(Order)) == rank) && seen == (1u << rank) - 1;
  }
  static constexpr shape infer(shape a) {
    signed char order[max_rank]{};
    return fits(a) && order_of(a.rank, order) ? permuted(a, order) : no_shape;
  }
  template <class T>
  static constexpr void describe(step& s, int rank) {
    s.dense = false;
    order_of(rank, s.order);
  }
};

inline namespace LOCUS_MODE {
/// means: r[i, j, ...] = x[..., j, i], or the axes in this order: transpose<0, 2, 1>(x)
/// cost:  none: the same memory under other strides
template <int... Order, tensor_operand X>
constexpr auto transpose(X&& x) {
  return internal::checked_node<transpose_op<Order...>>(transpose_op<Order...>{},
                                                        as_operand<void>(std::forward<X>(x)));
}
}  // namespace LOCUS_MODE

/// the transpose of the memory of an array that is stored columns first (tensor/column_major.hpp)
struct columns_op : transpose_op<> {};

// ---- expand_dims ----
template <int Axis>
struct expand_op {
  LOCUS_BUILTIN("expand_dims")
  static constexpr step_kind kind = step_kind::expand;
  template <class T>
  using result = T;
  static constexpr int axis_of(int rank) { return Axis < 0 ? Axis + rank + 1 : Axis; }
  static constexpr shape infer(shape a) { return expanded(a, axis_of(a.rank)); }
  template <class T>
  static constexpr void describe(step& s, int rank) {
    s.axis = static_cast<signed char>(axis_of(rank));
  }
};

inline namespace LOCUS_MODE {
/// means: x with an axis of extent 1 inserted at position Axis; -1: after the last axis
/// cost:  none: the same memory
template <int Axis, tensor_operand X>
constexpr auto expand_dims(X&& x) {
  return internal::checked_node<expand_op<Axis>>(expand_op<Axis>{},
                                                 as_operand<void>(std::forward<X>(x)));
}
}  // namespace LOCUS_MODE

// ---- at ----
/// means: r[i..., k...] = x[i..., index, k...], where `index` stands at axis Axis
template <int Axis>
struct at_op {
  LOCUS_BUILTIN("at")
  static constexpr step_kind kind = step_kind::at;
  static constexpr int axis = Axis;
  std::int64_t index = 0;  // its first member: the run reads an operation's object as this number
  template <class T>
  using result = T;
  static constexpr shape infer(shape a) { return without_axis(a, Axis); }
  template <class T>
  static constexpr void describe(step& s, int) {
    s.axis = Axis, s.dense = false;
  }
  constexpr range range_along(int a) const { return a == Axis ? range::element(index) : range{}; }
};

// ---- reshape ----
/// means: the same elements in row order under other extents
template <class E>
struct reshape_op {
  LOCUS_BUILTIN("reshape")
  static constexpr step_kind kind = step_kind::reshape;
  shape to = E::pattern;  // dyn: the one extent that follows from the others
  template <class T>
  using result = T;
  static constexpr shape infer(shape a) { return reshaped(a, E::pattern); }
  void bind(binder& b) const { b.set_extents(to); }
};

inline namespace LOCUS_MODE {
/// means: r = x's elements in row order under extents N...; a -1 is computed from the others
/// cost:  none if x is dense, one copying kernel otherwise
/// fails: when the numbers of elements differ: at compile time for static extents, else at binding
template <std::int64_t... N, tensor_operand X>
constexpr auto reshape(X&& x) {
  using E = Extents<N...>;
  static_assert((int(N == dyn) + ... + 0) <= 1,
                "locus: reshape leaves two extents open; name all but one");
  return internal::checked_node<reshape_op<E>>(reshape_op<E>{},
                                               as_operand<void>(std::forward<X>(x)));
}
/// the same with extents known when the program runs: reshape(x, dextents<2>{rows, columns})
template <tensor_operand X, std::int64_t... N>
constexpr auto reshape(X&& x, Extents<N...> const& to) {
  using E = Extents<N...>;
  reshape_op<E> op;
  op.to = to.as_shape();
  return internal::checked_node<reshape_op<E>>(op, as_operand<void>(std::forward<X>(x)));
}
}  // namespace LOCUS_MODE
// ---- slice ----
namespace internal {
/// means: axes up to the last one of Cut
constexpr std::size_t axes_up_to(axis_set cut) {
  return cut == 0 ? 1 : std::size_t(32 - __builtin_clz(unsigned(cut)));
}
/// means: the range of axis a of Cut, whose ends are Static...
template <axis_set Cut, std::int64_t... Static>
constexpr range static_range(int a) {
  std::int64_t const ends[] = {Static...};
  int k = 0;
  for (int i = 0; i < a; ++i) k += 2 * has_axis(Cut, i);
  return has_axis(Cut, a) ? range{ends[k], ends[k + 1]} : range{};
}
/// The ranges of a slice. A slice is copied into each node above it: ranges that the type knows take no
/// memory, others that of the axes up to the last one of Cut. nvcc 13.0 needs the bound.
template <class Axes, axis_set Cut, std::int64_t... Static>
struct slice_ranges;
template <std::size_t... A, axis_set Cut, std::int64_t... Static>
struct slice_ranges<std::index_sequence<A...>, Cut, Static...> {
  static constexpr range ranges[sizeof...(A)] = {static_range<Cut, Static...>(int(A))...};
};
template <std::size_t... A, axis_set Cut>
struct slice_ranges<std::index_sequence<A...>, Cut> {
  range ranges[sizeof...(A)]{};
};
template <axis_set Cut, std::int64_t... Static>
using slice_ranges_t = slice_ranges<std::make_index_sequence<axes_up_to(Cut)>, Cut, Static...>;
}  // namespace internal

/// means: the part of x inside a range of each axis     shape: axes of Cut are dynamic unless
///        Static holds their begin and end
template <axis_set Cut, std::int64_t... Static>
struct slice_op : internal::slice_ranges_t<Cut, Static...> {
  LOCUS_BUILTIN("slice")
  static constexpr step_kind kind = step_kind::slice;
  static constexpr std::int64_t known[sizeof...(Static) + 1] = {Static..., 0};
  template <class T>
  using result = T;
  static constexpr shape infer(shape a) {
    if (!fits(a) || Cut > all_axes(a.rank)) return no_shape;
    for (int i = 0, k = 0; i < a.rank; ++i) {
      if (!has_axis(Cut, i)) continue;
      std::int64_t const n = a.extent[i];
      if constexpr (sizeof...(Static) > 0) {
        range const r{known[k], known[k + 1]};
        k += 2;
        if (n != dyn && r.length(n) < 0) return no_shape;
        a.extent[i] = n != dyn ? r.length(n) : dyn;
      } else
        a.extent[i] = dyn;
    }
    return a;
  }
  template <class T>
  static constexpr void describe(step& s, int) {
    s.axes = Cut, s.dense = false;
    for (int i = 0, k = 0; i < s.extents.rank; ++i) {
      if (!has_axis(Cut, i)) continue;
      s.front[i] = s.back[i] = open_end;
      if constexpr (sizeof...(Static) > 0) {
        std::int64_t const begin = known[k], end = known[k + 1];
        k += 2;
        bool const from_end = end == range::to_end || (end < 0 && end >= -max_left_out);
        if (begin < 0 || begin > max_left_out || !from_end) continue;
        s.front[i] = static_cast<signed char>(begin);
        s.back[i] = static_cast<signed char>(end == range::to_end ? 0 : -end);
      }
    }
  }
  void bind(binder& b) const { b.objects[b.at] = this->ranges; }
  /// means: the range of axis a; an axis that is not of Cut is whole
  constexpr range range_along(int a) const { return has_axis(Cut, a) ? this->ranges[a] : range{}; }
};

/// means: slice_op whose ranges have steps: a type of its own, as it has gaps along any axis
template <axis_set Cut>
struct strided_op : slice_op<Cut> {};

namespace internal {
template <class Op>
inline constexpr bool is_slice_op = false;
template <axis_set Cut, std::int64_t... Static>
inline constexpr bool is_slice_op<slice_op<Cut, Static...>> = true;
template <axis_set Cut>
inline constexpr bool is_slice_op<strided_op<Cut>> = true;
template <class Op>
inline constexpr bool is_at_op = false;
template <int Axis>
inline constexpr bool is_at_op<at_op<Axis>> = true;
/// means: an operation whose ranges select a part of its operand
template <class Op>
inline constexpr bool is_part_op = is_slice_op<Op> || is_at_op<Op>;
}  // namespace internal

namespace detail {
template <class T, class E, class Where, bool Checked>
constexpr auto as_constant(Leaf<T, E, Where, borrowed<Checked>> const& leaf) {
  using Source = borrowed_constant<Checked>;
  return Leaf<T, E, Where, Source>{Source(leaf.source)};
}
template <class Operand>
constexpr Operand as_constant(Operand const& operand) {
  return operand;
}
}  // namespace detail

namespace internal {
inline namespace LOCUS_MODE {
/// means: the operand of a part of x, whose type says whether x is a constant Tensor
template <class X>
constexpr auto as_whole(X&& x) {
  if constexpr (std::is_const_v<std::remove_reference_t<X>>)
    return detail::as_constant(as_operand<void>(std::forward<X>(x)));
  else
    return as_operand<void>(std::forward<X>(x));
}
}  // namespace LOCUS_MODE
}  // namespace internal

namespace detail {
constexpr range elements_of_range(range const& r) { return r; }
constexpr range elements_of_range(strided const& r) { return r.elements(); }
template <class R>
concept slice_range = std::is_same_v<R, range> || std::is_same_v<R, strided>;

inline namespace LOCUS_MODE {
template <class X, class... Ranges>
constexpr auto sliced(X&& x, Ranges... ranges) {
  using Op = slice_op<all_axes(sizeof...(Ranges))>;
  Op op;
  int i = 0;
  ((op.ranges[i++] = ranges), ...);
  return checked_node<Op>(op, internal::as_whole(std::forward<X>(x)));
}
}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i...] = x[begin + i...]: slice(x, {1, -1}, all_of) or slice(x, {0, 5})
/// shape: that of the ranges; axes without a range stay whole
/// cost:  none: a part of the same memory; of a generator, all of it is computed and stored first
/// fails: at binding, for a range outside its axis
template <tensor_operand X>
constexpr auto slice(X&& x, range a) {
  return detail::sliced(std::forward<X>(x), a);
}
template <tensor_operand X>
constexpr auto slice(X&& x, range a, range b) {
  return detail::sliced(std::forward<X>(x), a, b);
}
template <tensor_operand X>
constexpr auto slice(X&& x, range a, range b, range c) {
  return detail::sliced(std::forward<X>(x), a, b, c);
}
template <tensor_operand X>
constexpr auto slice(X&& x, range a, range b, range c, range d) {
  return detail::sliced(std::forward<X>(x), a, b, c, d);
}
template <tensor_operand X>
constexpr auto slice(X&& x, range a, range b, range c, range d, range e) {
  return detail::sliced(std::forward<X>(x), a, b, c, d, e);
}
template <tensor_operand X>
constexpr auto slice(X&& x, range a, range b, range c, range d, range e, range f) {
  return detail::sliced(std::forward<X>(x), a, b, c, d, e, f);
}

/// means: the same with steps: slice(x, strided{0, 10, 2}, all_of), slice(x, {0, 10, 2})
/// cost:  none: a part of the same memory, as above; an operand of a call is copied first
/// fails: at binding, for a range outside its axis, or a step below 1
template <tensor_operand X, detail::slice_range... Ranges>
  requires(std::is_same_v<Ranges, strided> || ...)
constexpr auto slice(X&& x, Ranges... ranges) {
  using Op = strided_op<all_axes(sizeof...(Ranges))>;
  Op op;
  int i = 0;
  ((op.ranges[i++] = detail::elements_of_range(ranges)), ...);
  return internal::checked_node<Op>(op, internal::as_whole(std::forward<X>(x)));
}
template <tensor_operand X, std::size_t N>
  requires(N == 3)
constexpr auto slice(X&& x, std::int64_t const (&a)[N]) {
  return slice(std::forward<X>(x), strided{a[0], a[1], a[2]});
}
template <tensor_operand X, std::size_t N>
  requires(N == 3)
constexpr auto slice(X&& x, std::int64_t const (&a)[N], range b) {
  return slice(std::forward<X>(x), strided{a[0], a[1], a[2]}, b);
}
template <tensor_operand X, std::size_t N>
  requires(N == 3)
constexpr auto slice(X&& x, range a, std::int64_t const (&b)[N]) {
  return slice(std::forward<X>(x), a, strided{b[0], b[1], b[2]});
}
template <tensor_operand X, std::size_t N, std::size_t M>
  requires(N == 3 && M == 3)
constexpr auto slice(X&& x, std::int64_t const (&a)[N], std::int64_t const (&b)[M]) {
  return slice(std::forward<X>(x), strided{a[0], a[1], a[2]}, strided{b[0], b[1], b[2]});
}

/// means: x with [Begin, End) of one axis, known at compile time: static extents stay static
template <int Axis, std::int64_t Begin, std::int64_t End, tensor_operand X>
constexpr auto slice(X&& x) {
  using Op = slice_op<axis_set(1u << Axis), Begin, End>;
  return internal::checked_node<Op>(Op(), internal::as_whole(std::forward<X>(x)));
}

}  // namespace LOCUS_MODE

}  // namespace locus
