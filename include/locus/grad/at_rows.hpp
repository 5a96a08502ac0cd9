// SPDX-License-Identifier: Apache-2.0
// A value of a plan, read at a distance along the cut. A value has no margins, so the distance goes down to the tensors of
// its expression: row i + 1 of f(a, b) is f of the rows i + 1 of a and b.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>        // LOCUS_MODE
#include <locus/core/shared.hpp>        // shared
#include <locus/grad/cut_of_value.hpp>  // cut_of, facts_of
#include <locus/ops/generators.hpp>     // full_fn
#include <locus/ops/map.hpp>            // map_op, make_node
#include <locus/ops/reduce.hpp>         // reduce_op
#include <locus/ops/shift_op.hpp>       // shift_op, place_of_tensor
#include <locus/ops/views.hpp>          // slice_op, expand_op

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

}  // namespace LOCUS_MODE
}  // namespace detail
}  // namespace locus
