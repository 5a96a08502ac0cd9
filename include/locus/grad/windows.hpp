// SPDX-License-Identifier: Apache-2.0
// The adjoints of stencils over pieces. The adjoint of a window of x is read at a distance, where the
// margins of its own value would be needed. A value of a plan has no margins, so the distance goes down
// to its tensors: row i + 1 of f(a, b) is f of the rows i + 1 of a and b. Beyond the ends stand zeros.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/core/shared.hpp>           // shared
#include <locus/grad/adjoint.hpp>          // reads_replicas
#include <locus/grad/stop_gradient.hpp>    // stop_gradient_op
#include <locus/ops/concatenate.hpp>       // concatenate_op
#include <locus/ops/math.hpp>              // where, add_n
#include <locus/ops/reduce.hpp>            // reduce_op
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/ops/shift_op.hpp>          // shift_op, place_of_tensor
#include <locus/ops/softmax.hpp>           // softmax_op
#include <locus/ops/views.hpp>             // slice_op, expand_op
#include <locus/plan/plan.hpp>             // device_of

namespace locus {

/// means: row i + shift, modulo `ring` rows if that is not 0, lies in [first, end)
struct rows_inside_fn {
  LOCUS_BUILTIN("rows_inside")
  std::int64_t shift, ring, first, end;
  LOCUS_HOST_DEVICE constexpr bool operator()(std::int64_t i) const {
    std::int64_t row = i + shift;
    if (ring > 0) row = (row % ring + ring) % ring;
    return row >= first && row < end;
  }
};

/// The name of a let whose value is that of Let, read By rows behind.
template <class Let, int FromRight, int By, bool Ring>
struct value_at_rows {
  template <class E>
  static bool same(E const& a, E const& b) {
    return internal::same_reading(a, b);
  }
};

namespace detail {

/// The cut of a value in pieces: its axis, counted from the right (-1: no pieces), and how many rows
/// the value has less than its tensors.
struct cut_of_value {
  int from_right = -1, span = 0;
};
/// means: the step of Op with an operand of pattern x
template <class Op, class T>
constexpr step facts_of(shape const& x) {
  step s;
  s.extents = Op::infer(x);
  if constexpr (requires { Op::template describe<T>(s, 0); }) Op::template describe<T>(s, x.rank);
  return s;
}
/// means: where the cut of an operand stands in the result of a view or a fold of other axes
constexpr int cut_behind(step const& s, step_kind kind, int from_right, int rank) {
  int const axis = rank - 1 - from_right;
  if (kind == step_kind::expand) return from_right + int(s.axis > axis);
  if (kind == step_kind::at) return from_right - int(s.axis > axis);
  if (kind == step_kind::transpose) {
    int k = 0;
    while (s.order[k] != axis) ++k;
    return rank - 1 - k;
  }
  if (kind != step_kind::reduce || s.keep) return from_right;
  int behind = 0;
  for (int a = axis + 1; a < rank; ++a) behind += has_axis(s.axes, a);
  return from_right - behind;
}
/// means: where the cut of a fold stands in its operand
constexpr int cut_in_front(axis_set folded, int rank, int from_right) {
  int axis = rank - 1;
  while (has_axis(folded, axis) || from_right-- > 0) --axis;
  return rank - 1 - axis;
}
/// means: the result lies where its operands lie
template <class Op>
inline constexpr bool is_map = false;
template <class F>
inline constexpr bool is_map<map_op<F>> = true;
template <int Axis>
inline constexpr bool is_map<concatenate_op<Axis>> = true;
template <int Axis, bool Log>
inline constexpr bool is_map<softmax_op<Axis, Log>> = true;
template <>
inline constexpr bool is_map<stop_gradient_op> = true;
/// means: a view or a fold: its step says where the cut of its operand stands
template <class Op>
inline constexpr bool is_followed = false;
template <class Op>
  requires requires { Op::kind; }
inline constexpr bool is_followed<Op> =
    (is_view_kind(Op::kind) && Op::kind != step_kind::reshape) || Op::kind == step_kind::reduce;

template <class E>
inline constexpr cut_of_value cut_of{};
template <class T, class E, class Policy, class Source>
inline constexpr cut_of_value cut_of<Leaf<T, E, Policy, Source>> = {
    Policy::value.is_sharded() ? E::rank() - 1 - Policy::value.axis : -1};
template <class Id, class E>
inline constexpr cut_of_value cut_of<Bound<Id, E>> = cut_of<E>;
template <class Op, class X, class... More>
consteval cut_of_value cut_of_node() {
  using N = Node<Op, X, More...>;
  constexpr cut_of_value of = cut_of<X>;
  constexpr int rank = X::pattern.rank, axis = rank - 1 - of.from_right;
  if constexpr (is_map<Op>) {
    cut_of_value most;
    for (cut_of_value const& c : {of, cut_of<More>...})
      if (c.from_right >= 0 && (most.from_right < 0 || c.span > most.span)) most = c;
    return most;
  } else if constexpr (!is_followed<Op>) {
    if constexpr (!internal::reads_replicas<N> || of.span > 0 || ((cut_of<More>.span > 0) || ...))
      return {};
    else
      return {device_of<N>.is_sharded() ? N::pattern.rank - 1 - device_of<N>.axis : -1};
  } else if constexpr (of.from_right < 0)
    return of;
  else {
    step const s = facts_of<Op, typename X::value_type>(X::pattern);
    bool const along = has_axis(s.axes, axis);
    if (Op::kind == step_kind::slice)
      return {of.from_right, of.span + (along ? int(s.front[axis]) + s.back[axis] : 0)};
    if (Op::kind == step_kind::reduce && along) return {};
    return {cut_behind(s, Op::kind, of.from_right, rank), of.span};
  }
}
template <class Op, class... Xs>
inline constexpr cut_of_value cut_of<Node<Op, Xs...>> = cut_of_node<Op, Xs...>();

/// means: E has rows along the cut
template <class E, int FromRight>
inline constexpr bool has_rows =
    (E::pattern.rank > FromRight) && E::pattern.from_right(FromRight) != 1;

template <int Width, int Kept>
consteval bool keeps_rows_of_gradient() {
  static_assert(
      Width <= Kept,
      "locus: the gradient of a stencil reads rows of other pieces that a tensor of the loss does "
      "not keep; write a wider Halo in the type of the tensor, up to twice the width of the "
      "stencil, or compute the adjoint g of the stencil into a tensor with a Halo and write "
      "grad_with(stencil, g, x)");
  return Width <= Kept;
}
template <bool Holds>
consteval bool goes_around() {
  static_assert(
      Holds,
      "locus: the gradient of a stencil around a ring reads a tensor of the loss whose Halo has "
      "another rule; write Halo<1, beyond::wrap> in the type of each tensor");
  return Holds;
}
template <class E>
consteval bool reads_at_rows() {
  static_assert(
      always_false<E>,
      "locus: the gradient of a stencil over pieces reads an adjoint at a distance that is no map "
      "of tensors in pieces with a Halo; compute the adjoint g of the stencil into such a tensor "
      "and write grad_with(stencil, g, x)");
  return false;
}

/// means: the extents of E, with the rows of Rows along the cut
template <class E, int FromRight, class Rows>
struct extents_with_rows {
  static constexpr shape value = [] {
    shape s = E::pattern;
    s.extent[s.rank - 1 - FromRight] = Rows::pattern.extent[0];
    return s;
  }();
};

inline namespace LOCUS_MODE {

/// means: e, as a value that its readers find at their own rows
template <class E>
constexpr auto no_view(E const& e) {
  return e;
}
template <class Op, class X>
  requires(requires { Op::kind; } && is_view_kind(Op::kind))
constexpr auto no_view(Node<Op, X> const& e) {
  return make_node(map_op<identity_fn>{}, e);
}
template <class E, int FromRight, class Rows>
constexpr auto with_rows(shape of, Rows const& rows) {
  of.extent[of.rank - 1 - FromRight] = rows.extent(0);
  return extents_of_shape_t<extents_with_rows<E, FromRight, Rows>>(of);
}
template <class F, class E>
constexpr auto generated(F f, E const& extents) {
  return make_node(map_op<F>{f}, Index<E>{extents});
}
/// means: of the ends of a slice by Cut, the i-th of those along the other axes than Axis
template <int Axis, axis_set Cut, std::int64_t... Static>
constexpr std::int64_t end_of_others(int i) {
  std::int64_t const ends[] = {Static...};
  int const own = 2 * __builtin_popcount(unsigned(Cut) & ((1u << Axis) - 1));
  return ends[i < own ? i : i + 2];
}
/// means: x, sliced along the other axes than Axis
template <int Axis, axis_set Cut, std::int64_t... Static, class X>
constexpr auto slice_of_others(slice_op<Cut, Static...> const& op, X const& x) {
  constexpr axis_set others = Cut & ~axis_set(1u << Axis);
  if constexpr (others == Cut)
    return make_node(op, x);
  else if constexpr (others == 0)
    return x;
  else {
    return [&]<std::size_t... E>(std::index_sequence<E...>) {
      using Op = slice_op<others, end_of_others<Axis, Cut, Static...>(int(E))...>;
      return make_node(Op(), x);
    }(std::make_index_sequence<sizeof...(Static) - 2>{});
  }
}

/// How values are read at a distance: row i of the result is row i + By of the value, modulo the rows
/// around a ring. FromRight: their cut, counted from the right. Rows: Extents of the rows of the result
template <int FromRight, int By, bool Ring, class Rows>
struct at_rows {
  Rows rows;

  template <class E>
  constexpr auto operator()(E const& e) const {
    constexpr cut_of_value cut = cut_of<E>;
    constexpr bool stays = By == 0 && cut.from_right == FromRight && cut.span == 0;
    if constexpr (has_rows<E, FromRight> && !stays)
      return read(e);
    else
      return e;
  }

 private:
  template <int Cut, int Distance = By>
  constexpr auto moved() const {
    return at_rows<Cut, Distance, Ring, Rows>{rows};
  }
  template <class E>
  constexpr auto read(E const& e) const {
    constexpr place at = internal::place_of_tensor<E>;
    constexpr int axis = E::pattern.rank - 1 - FromRight;
    if constexpr (at.is_sharded() && at.axis == axis) {
      if constexpr (keeps_rows_of_gradient<(By < 0 ? -By : By), at.margin.width>() &&
                    goes_around<!Ring || at.margin.outside == beyond::wrap>())
        return make_node(shift_op<axis, By>{}, e);
    } else if constexpr (reads_at_rows<E>())
      return e;
  }
  template <class Id, class E>
    requires(internal::place_of_tensor<E>.is_nowhere())
  constexpr auto read(Bound<Id, E> const& let) const {
    auto value = (*this)(*let.value);
    using V = decltype(value);
    return Bound<value_at_rows<Bound<Id, E>, FromRight, By, Ring>, V>{
        shared<V>::make(std::move(value))};
  }
  template <class F, class... Xs>
  constexpr auto read(Node<map_op<F>, Xs...> const& e) const {
    return read_operands(e, std::index_sequence_for<Xs...>{});
  }
  template <class E>
  constexpr auto read(Node<map_op<rows_inside_fn>, Index<E>> const& e) const {
    rows_inside_fn f = e.op.f;
    if (Ring || f.ring > 0) {
      f.shift += By, f.ring = rows.extent(0);
    } else
      f.first -= By, f.end -= By;
    return generated(f, with_rows<Index<E>, FromRight>(E::pattern, rows));
  }
  template <class T, class E>
  constexpr auto read(Node<map_op<full_fn<T>>, Index<E>> const& e) const {
    shape const now = get<0>(e.operands).extents.as_shape();
    return generated(e.op.f, with_rows<Index<E>, FromRight>(now, rows));
  }
  template <class X>
  constexpr auto read(Node<stop_gradient_op, X> const& e) const {
    return make_node(e.op, (*this)(get<0>(e.operands)));
  }
  template <int Axis, int K, class X>
  constexpr auto read(Node<shift_op<Axis, K>, X> const& e) const {
    return moved<FromRight, By + K>()(get<0>(e.operands));
  }
  template <axis_set Cut, std::int64_t... Static, class X>
    requires(sizeof...(Static) > 0)
  constexpr auto read(Node<slice_op<Cut, Static...>, X> const& e) const {
    constexpr int axis = X::pattern.rank - 1 - FromRight;
    constexpr int begin = int(internal::static_range<Cut, Static...>(axis).begin);
    return slice_of_others<axis>(e.op, moved<FromRight, By + begin>()(get<0>(e.operands)));
  }
  template <axis_set Cut, class X>
    requires(!has_axis(Cut, X::pattern.rank - 1 - FromRight))
  constexpr auto read(Node<slice_op<Cut>, X> const& e) const {
    return make_node(e.op, (*this)(get<0>(e.operands)));
  }
  template <int Axis, class X>
  constexpr auto read(Node<expand_op<Axis>, X> const& e) const {
    constexpr int axis = expand_op<Axis>::axis_of(X::pattern.rank);
    constexpr bool behind = axis > X::pattern.rank - FromRight;
    return make_node(e.op, moved<FromRight - int(behind)>()(get<0>(e.operands)));
  }
  template <class Fn, reduction R, bool Keep, int... Axes, class X>
  constexpr auto read(Node<reduce_op<Fn, R, Keep, Axes...>, X> const& e) const {
    using Op = reduce_op<Fn, R, Keep, Axes...>;
    constexpr step s = facts_of<Op, typename X::value_type>(X::pattern);
    constexpr int cut = Keep ? FromRight : cut_in_front(s.axes, X::pattern.rank, FromRight);
    return make_node(e.op, no_view(moved<cut>()(get<0>(e.operands))));
  }
  template <int Axis, bool Log, class X>
    requires(X::pattern.rank - 1 - FromRight != (Axis < 0 ? Axis + X::pattern.rank : Axis))
  constexpr auto read(Node<softmax_op<Axis, Log>, X> const& e) const {
    return make_node(e.op, no_view((*this)(get<0>(e.operands))));
  }
  template <int Axis, class... Xs>
    requires(concatenate_op<Axis>::axis_of(Node<concatenate_op<Axis>, Xs...>::pattern.rank) +
                 FromRight + 1 !=
             Node<concatenate_op<Axis>, Xs...>::pattern.rank)
  constexpr auto read(Node<concatenate_op<Axis>, Xs...> const& e) const {
    return concatenate_operands(e, std::index_sequence_for<Xs...>{});
  }

  template <class F, class... Xs, std::size_t... K>
  constexpr auto read_operands(Node<map_op<F>, Xs...> const& e, std::index_sequence<K...>) const {
    return make_node(e.op, (*this)(get<K>(e.operands))...);
  }
  template <int Axis, class... Xs, std::size_t... K>
  constexpr auto concatenate_operands(Node<concatenate_op<Axis>, Xs...> const& e,
                                      std::index_sequence<K...>) const {
    return make_node(e.op, no_view((*this)(get<K>(e.operands)))...);
  }
};

/// means: the row numbers [first, end) of n rows, as a column
template <int FromRight, class Rows>
constexpr auto rows_inside(Rows const& rows, std::int64_t first, std::int64_t end) {
  return [&]<std::size_t... One>(std::index_sequence<One...>) {
    using E = Extents<Rows::pattern.extent[0], (std::int64_t(One) * 0 + 1)...>;
    return generated(rows_inside_fn{0, 0, first, end},
                     E(rows.extent(0), (std::int64_t(One) * 0 + 1)...));
  }(std::make_index_sequence<std::size_t(FromRight)>{});
}
/// means: rows of the tensors under x, which has Span rows less
template <int FromRight, int Span, class X>
constexpr auto rows_under(X const& x) {
  constexpr std::int64_t n = X::pattern.from_right(FromRight);
  using Rows = Extents<n == dyn ? dyn : n + Span>;
  return Rows(internal::shape_now(x).from_right(FromRight) + Span);
}
/// means: row i of g at row i + By, for rows i + By in [first, end); elsewhere 0
template <int FromRight, int By, class Rows, class G>
constexpr auto moved_rows(Rows const& rows, G const& g, std::int64_t first, std::int64_t end) {
  return where(rows_inside<FromRight>(rows, first, end),
               at_rows<FromRight, -By, false, Rows>{rows}(g), 0.0);
}

/// means: the adjoint of x along the cut, of a slice of x that begins at row By; g: its adjoint
template <int FromRight, int By, class G, class X>
constexpr auto window_back(G const& g, X const& x) {
  auto const rows = rows_under<FromRight, cut_of<X>.span>(x);
  return moved_rows<FromRight, By>(rows, g, By, By + internal::shape_now(g).from_right(FromRight));
}
/// means: the adjoint of x, which lies in pieces, of x at the distance By
template <int Axis, int By, class G, class X>
constexpr auto shift_back(G const& g, X const& x) {
  constexpr int from_right = X::pattern.rank - 1 - Axis;
  constexpr beyond outside = internal::place_of_tensor<X>.margin.outside;
  auto const rows = rows_under<from_right, 0>(x);
  using Rows = std::remove_const_t<decltype(rows)>;
  std::int64_t const n = rows.extent(0);
  if constexpr (outside == beyond::wrap)
    return no_view(at_rows<from_right, -By, true, Rows>{rows}(g));
  else if constexpr (By == 0 || outside != beyond::keep)
    return moved_rows<from_right, By>(rows, g, By > 0 ? By : 0, By < 0 ? n + By : n);
  else  // many rows read the row at one end
    return [&]<int... D>(std::integer_sequence<int, D...>) {
      if constexpr (By > 0)
        return add_n(
            moved_rows<from_right, By>(rows, g, By, n),
            moved_rows<from_right, By - 1 - D>(rows, g, n - 1 < By - 1 - D ? n : n - 1, n)...);
      else
        return add_n(moved_rows<from_right, -D>(rows, g, 0, n < D + 1 ? 0 : 1)...,
                     moved_rows<from_right, By>(rows, g, 0, n + By));
    }(std::make_integer_sequence<int, (By < 0 ? -By : By)>{});
}

}  // namespace LOCUS_MODE
}  // namespace detail
}  // namespace locus
