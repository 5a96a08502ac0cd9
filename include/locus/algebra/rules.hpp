// SPDX-License-Identifier: Apache-2.0
// The rules of algebra<>: each takes an expression of one form and makes one of equal value.
#pragma once
#include <cstddef>      // size_t
#include <string_view>  // string_view
#include <type_traits>  // is_same
#include <utility>      // index_sequence, declval

#include <locus/algebra/matrix_chain.hpp>  // matrix_chain, best_order
#include <locus/ops/arithmetic.hpp>        // *, multiply_fn
#include <locus/ops/reduce.hpp>            // reduce_op, sum, reduction_of
#include <locus/ops/views.hpp>             // transpose, expand_dims

namespace locus::internal {

// A rule is a type with
//   apply(e)              the other expression; a constraint says which e have the form
//   write<E>(text)        "from -> to", in the words of a program

/// means: the operation's axis order for that rank
template <int... Order>
struct order_of_axes {
  signed char of[max_rank]{};
  constexpr explicit order_of_axes(int rank) { transpose_op<Order...>::order_of(rank, of); }
  constexpr bool is_identity(int rank) const {
    for (int i = 0; i < rank; ++i)
      if (of[i] != i) return false;
    return true;
  }
};

/// transpose(x) with all axes at their places -> x
struct transpose_of_nothing {
  template <int... Order, class X>
    requires(order_of_axes<Order...>(X::pattern.rank).is_identity(X::pattern.rank))
  static constexpr X apply(Node<transpose_op<Order...>, X> const& e) {
    return get<0>(e.operands);
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    out << "transpose(x) in order -> x";
  }
};

/// transpose<P>(transpose<Q>(x)) -> transpose<P of Q>(x), or x
struct transpose_twice {
  template <int... P, int... Q, class X>
  static constexpr auto apply(Node<transpose_op<P...>, Node<transpose_op<Q...>, X>> const& e) {
    constexpr order_of_axes<P...> outer(X::pattern.rank);
    constexpr order_of_axes<Q...> inner(X::pattern.rank);
    X const& x = get<0>(get<0>(e.operands).operands);
    return [&]<std::size_t... A>(std::index_sequence<A...>) {
      if constexpr (((inner.of[outer.of[A]] == int(A)) && ...))
        return x;
      else
        return transpose<inner.of[outer.of[A]]...>(x);
    }(std::make_index_sequence<std::size_t(X::pattern.rank)>{});
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    using next = decltype(apply(std::declval<E const&>()));
    out << "transpose(transpose(x)) -> " << (next::steps == E::steps - 1 ? "transpose(x)" : "x");
  }
};

/// transpose(matmul(a, b)) -> matmul(transpose(b), transpose(a))
struct transpose_of_product {
  template <int... Order, class A, class B>
    requires(A::pattern.rank == 2 && B::pattern.rank == 2 &&
             !order_of_axes<Order...>(2).is_identity(2))
  static constexpr auto apply(Node<transpose_op<Order...>, Node<matmul_op, A, B>> const& e) {
    auto const& product = get<0>(e.operands);
    return matmul(transpose(get<1>(product.operands)), transpose(get<0>(product.operands)));
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    out << "transpose(matmul(a, b)) -> matmul(transpose(b), transpose(a))";
  }
};

/// matmul(matmul(a, b), c) -> matmul(a, matmul(b, c)), or the other way round, where that costs less
struct products_in_order {
  template <class E, class Chain = matrix_chain<E>,
            class Order = best_order<typename Chain::factors>>
  static constexpr bool gains = [] {
    if constexpr (Order::factors > 2 && Order::is_static)
      return Order::whole.is_less({Chain::operations, Chain::elements});
    return false;
  }();

  template <class A, class B>
    requires gains<Node<matmul_op, A, B>>
  static constexpr auto apply(Node<matmul_op, A, B> const& e) {
    using order = best_order<typename matrix_chain<Node<matmul_op, A, B>>::factors>;
    return order::template build<0, order::factors - 1>(e);
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    matrix_chain<E>::write(out, 0);
    using next = decltype(apply(std::declval<E const&>()));
    matrix_chain<next>::write(out << " -> ", 0);
  }
};

/// means: sums and means of T are of type T
template <class T>
inline constexpr bool adds_up_to_itself =
    std::is_same_v<T, float> || std::is_same_v<T, double> || is_complex_v<T>;

/// sum(matmul(a, b)) -> sum(sum<0>(a) * sum<1>(b)); sum<0>(matmul(a, b)) -> matmul(sum<0>(a), b);
/// sum<1>(matmul(a, b)) -> matmul(a, sum<1>(b)); means alike. Where the extents are known: if that
/// takes fewer operations, and intermediate values are no more
struct sum_of_product {
  template <int... Axes>
  static constexpr axis_set axes = [] {
    step s;
    reduce_op<sum_fn, reduction::sum, false, Axes...>::template describe<float>(s, 2);
    return s.axes;
  }();
  static constexpr axis_set rows = 1, columns = 2;

  /// a mean over no product is NaN, also where the inner extent is 0: that case is not rewritten
  template <class Fn, axis_set Axes, class A, class B>
  static constexpr bool gains = [] {
    if (!adds_up_to_itself<typename A::value_type>) return false;
    bool const known = A::pattern.is_static() && B::pattern.is_static();
    bool const one_row = A::pattern.extent[0] == 1, one_column = B::pattern.extent[1] == 1;
    if (!known)
      return std::is_same_v<Fn, sum_fn> && !(Axes == rows      ? one_row
                                             : Axes == columns ? one_column
                                                               : one_row && one_column);
    auto const m = double(A::pattern.extent[0]), k = double(A::pattern.extent[1]),
               n = double(B::pattern.extent[1]);
    double const operations = 2 * m * k * n + m * n, elements = 2 * m * n;
    auto const less = [&](double new_operations, double new_elements) {
      return new_operations < operations && new_elements <= elements;
    };
    if (k == 0) return false;
    return Axes == rows      ? less(m * k + 2 * k * n, 2 * k)
           : Axes == columns ? less(k * n + 2 * m * k, 2 * k)
                             : less(m * k + k * n + 2 * k, 4 * k);
  }();

  template <class Fn, bool Keep, int... Axes, class A, class B>
    requires((std::is_same_v<Fn, sum_fn> || std::is_same_v<Fn, mean_fn>) && A::pattern.rank == 2 &&
             B::pattern.rank == 2) &&
            gains<Fn, axes<Axes...>, A, B>
  static constexpr auto apply(
      Node<reduce_op<Fn, reduction::sum, Keep, Axes...>, Node<matmul_op, A, B>> const& e) {
    auto const& product = get<0>(e.operands);
    A const& a = get<0>(product.operands);
    B const& b = get<1>(product.operands);
    constexpr axis_set folded = axes<Axes...>;
    auto const fold = [](auto const& x, auto keep, auto axis) {
      return reduction_of<Fn, reduction::sum, keep, axis>(x);
    };
    constexpr std::bool_constant<Keep> keeps;
    constexpr std::true_type stays;
    constexpr std::integral_constant<int, 0> row;
    constexpr std::integral_constant<int, 1> column;
    if constexpr (folded == rows)
      return matmul(fold(a, keeps, row), b);
    else if constexpr (folded == columns)
      return matmul(a, fold(b, keeps, column));
    else if constexpr (makes_product<Keep, A, B>) {
      auto dot = matmul(fold(a, stays, row), fold(b, stays, column));
      if constexpr (Keep)
        return dot;
      else
        return reshape<>(std::move(dot));
    } else
      return sum(fold(a, keeps, row) * fold(b, keeps, column));
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    write_rule(out, static_cast<E const*>(nullptr));
  }

 private:
  /// a sum of all elements is made by a product of a row and a column, which compares open extents
  template <bool Keep, class A, class B>
  static constexpr bool makes_product =
      Keep || A::pattern.extent[1] == dyn || B::pattern.extent[0] == dyn;
  template <class Text, class Fn, bool Keep, int... Axes, class A, class B>
  static constexpr void write_rule(
      Text& out, Node<reduce_op<Fn, reduction::sum, Keep, Axes...>, Node<matmul_op, A, B>> const*) {
    constexpr std::string_view name = Fn::op.name;
    constexpr axis_set folded = axes<Axes...>;
    if constexpr (folded == rows)
      out << name << "<0>(matmul(a, b)) -> matmul(" << name << "<0>(a), b)";
    else if constexpr (folded == columns)
      out << name << "<1>(matmul(a, b)) -> matmul(a, " << name << "<1>(b))";
    else if constexpr (makes_product<Keep, A, B>)
      out << name << "(matmul(a, b)) -> matmul(" << name << "<0>(a), " << name << "<1>(b))";
    else
      out << name << "(matmul(a, b)) -> sum(" << name << "<0>(a) * " << name << "<1>(b))";
  }
};

/// sum<1>(expand_dims<2>(a) * expand_dims<0>(b)) -> matmul(a, b), and the other five places of the two
/// new axes: a fold of m k n products becomes a product of a library
struct sum_of_products_in_space {
  template <int Folded, int P, int Q, class A, class B>
  static constexpr bool fits = [] {
    if (A::pattern.rank != 2 || B::pattern.rank != 2) return false;
    if (!adds_up_to_itself<typename A::value_type> ||
        !std::is_same_v<typename A::value_type, typename B::value_type>)
      return false;
    constexpr int p = expand_op<P>::axis_of(2), q = expand_op<Q>::axis_of(2),
                  r = Folded < 0 ? Folded + 3 : Folded;
    if (p == q || r == p || r == q) return false;
    std::int64_t const a = A::pattern.extent[r - (r > p)], b = B::pattern.extent[r - (r > q)];
    return a != dyn && a == b;  // in a product of elements an extent 1 stretches
  }();

  template <int Folded, int P, int Q, class A, class B>
    requires fits<Folded, P, Q, A, B>
  static constexpr auto apply(
      Node<reduce_op<sum_fn, reduction::sum, false, Folded>,
           Node<map_op<multiply_fn>, Node<expand_op<P>, A>, Node<expand_op<Q>, B>>> const& e) {
    auto const& product = get<0>(e.operands);
    A const& a = get<0>(get<0>(product.operands).operands);
    B const& b = get<0>(get<1>(product.operands).operands);
    // of the space a has the axes q and r, b the axes p and r
    constexpr int p = expand_op<P>::axis_of(2), q = expand_op<Q>::axis_of(2),
                  r = Folded < 0 ? Folded + 3 : Folded;
    if constexpr (q < p)  // a has the rows of the result
      return matmul(turned<(q > r)>(a), turned<(r > p)>(b));
    else
      return matmul(turned<(p > r)>(b), turned<(r > q)>(a));
  }
  template <class E, class Text>
  static constexpr void write(Text& out) {
    out << "sum(expand_dims(a) * expand_dims(b)) -> matmul(a, b)";
  }

 private:
  template <bool Turned, class X>
  static constexpr auto turned(X const& x) {
    if constexpr (Turned)
      return transpose(x);
    else
      return x;
  }
};

/// the rules, in the order in which they are tried
using algebra_rules = type_list<transpose_of_nothing, transpose_twice, transpose_of_product,
                                products_in_order, sum_of_product, sum_of_products_in_space>;

}  // namespace locus::internal
