// SPDX-License-Identifier: Apache-2.0
// The loss again, with a let around each value that derivatives read: computed once for both.
#pragma once
#include <utility>  // index_sequence

#include <locus/core/error.hpp>                // placement_error
#include <locus/expr/same_reading.hpp>         // same_reading
#include <locus/grad/reached_by_gradient.hpp>  // is_active, reads_of

namespace locus {

namespace detail {

/// means: true     fails: placement_error, where one plan has two different losses of one type
template <class E>
bool same_gradient_value(E const& a, E const& b) {
  if (!internal::same_reading(a, b))
    throw placement_error("locus: one plan holds gradients of two losses that have the same type; "
                          "give each a name, as in "
                          "grad(named<\"first\">(loss), w)");
  return true;
}

}  // namespace detail

/// The name of a let that grad() adds: for the value of node At of tree Tree of a loss; tree 0 is
/// the loss itself, tree k + 1 its k-th let. Owner: the name of the loss, if it has one.
template <class Owner, int Tree, int At>
struct kept_value {
  template <class E>
  static bool same(E const& a, E const& b) {
    return detail::same_gradient_value(a, b);
  }
};
/// The same for the adjoint of that value.
template <class Owner, int Tree, int At>
struct adjoint_of {
  template <class E>
  static bool same(E const& a, E const& b) {
    return detail::same_gradient_value(a, b);
  }
};
/// The same for a value that only the pullback of node At uses.
template <class Owner, int Tree, int At>
struct inner_value {
  template <class E>
  static bool same(E const& a, E const& b) {
    return detail::same_gradient_value(a, b);
  }
};

namespace detail {

template <class E>
struct owner_of {
  using type = void;
};
template <class Id, class E>
struct owner_of<Bound<Id, E>> {
  using type = Id;
};

/// means: rewritten() added this let
template <class E>
inline constexpr bool is_kept = false;
template <class Owner, int Tree, int At, class E>
inline constexpr bool is_kept<Bound<kept_value<Owner, Tree, At>, E>> = true;

}  // namespace detail

namespace internal {

/// means: e under the name Id, as by let
template <class Id, class E>
constexpr auto bind_as(E e) {
  return Bound<Id, E>{shared<E>::make(std::move(e))};
}

}  // namespace internal

namespace detail {

/// means: the number of operand k of node At; a node's number is smaller than those of its operands
template <int At, class... Operands>
constexpr int at_operand(int k) {
  int const sizes[] = {tree_size<Operands>...};
  int at = At + 1;
  for (int i = 0; i < k; ++i) at += sizes[i];
  return at;
}

/// Types of a loss before its lets are rewritten.
template <class Loss, class Targets>
struct loss_facts {
  using lets = typename Loss::lets;
  using targets = Targets;
  using owner = typename owner_of<Loss>::type;
};

inline namespace LOCUS_MODE {

// ---- finds the first occurrence of a let ----
template <class Let, class E>
constexpr auto const& find_let(E const& e);
template <class Let, int K, class E>
constexpr auto const& find_let_in_operands(E const& e) {
  using Operand = std::remove_cvref_t<decltype(get<K>(e.operands))>;
  if constexpr (contains_v<Let, typename Operand::lets>)
    return find_let<Let>(get<K>(e.operands));
  else
    return find_let_in_operands<Let, K + 1>(e);
}
template <class Let, class E>
constexpr auto const& find_let(E const& e) {
  if constexpr (std::is_same_v<Let, E>)
    return e;
  else if constexpr (is_computed<E>)
    return find_let_in_operands<Let, 0>(e);
  else
    return find_let<Let>(*e.value);
}

// ---- rewriting ----
/// means: the rewritten lets, each after the lets that it reads
template <class... Lets>
struct let_table {
  using types = type_list<Lets...>;
  pack<Lets...> all;
};

template <class Op, class... Operands>
constexpr auto operand_numbers(Node<Op, Operands...> const&) {
  return std::index_sequence_for<Operands...>{};
}
template <class Facts, int Tree, int At, bool Read, bool Named, class Table, class Op,
          class... Operands, std::size_t... K>
constexpr auto rewritten_node(Table const& table, Node<Op, Operands...> const& e,
                              std::index_sequence<K...>);

/// means: e with a let around each value that a derivative reads. Read: the derivative of e's
///        reader reads e; Named: e is already the value of a let
template <class Facts, int Tree, int At, bool Read, bool Named, class Table, class E>
constexpr auto rewritten(Table const& table, E const& e) {
  constexpr int let = index_in<E>(typename Facts::lets{});
  if constexpr (let < Facts::lets::size)
    return get<std::size_t(let)>(table.all);
  else if constexpr (is_computed<E>)
    return rewritten_node<Facts, Tree, At, Read, Named>(table, e, operand_numbers(e));
  else
    return e;
}
template <class Facts, int Tree, int At, bool Read, bool Named, class Table, class Op,
          class... Operands, std::size_t... K>
constexpr auto rewritten_node(Table const& table, Node<Op, Operands...> const& e,
                              std::index_sequence<K...>) {
  using targets = typename Facts::targets;
  constexpr bool passes = is_active<targets, Node<Op, Operands...>>;
  constexpr unsigned reads = passes ? reads_of<Op>(active_operands<targets, Operands...>()) : 0;
  // a view of a kept value costs nothing
  constexpr bool transparent = is_view_op<Op> || std::is_same_v<Op, stop_gradient_op>;
  constexpr bool cheap = !passes && is_cheap<Node<Op, Operands...>>;
  auto node = make_node(e.op, rewritten < Facts, Tree, at_operand<At, Operands...>(int(K)),
                        (reads & derivatives::operand(int(K))) != 0 || (transparent && Read),
                        false > (table, get<K>(e.operands))...);
  if constexpr (!Named && !transparent && !cheap && (Read || (reads & derivatives::itself) != 0))
    return bind_as<kept_value<typename Facts::owner, Tree, At>>(std::move(node));
  else
    return node;
}

/// means: a let around the rewritten value; the same let if nothing was rewritten
template <class Facts, int Tree, class Table, class Id, class E>
constexpr auto rewritten_let(Table const& table, Bound<Id, E> const& let) {
  if constexpr (!is_computed<E> && !contains_v<E, typename Facts::lets>)
    return let;
  else {
    auto value = rewritten<Facts, Tree, 0, false, true>(table, *let.value);
    if constexpr (std::is_same_v<decltype(value), E>)
      return let;
    else
      return bind_as<Id>(std::move(value));
  }
}
template <class... Lets, class Next, std::size_t... K>
constexpr auto appended(let_table<Lets...> const& table, Next next, std::index_sequence<K...>) {
  return let_table<Lets..., Next>{{{get<K>(table.all)}..., {std::move(next)}}};
}
/// means: the table of all lets: those already rewritten, then the others, rewritten
template <class Facts, class Loss, class... Done>
constexpr auto rewritten_lets(Loss const& loss, let_table<Done...> const& table) {
  constexpr int k = int(sizeof...(Done));
  if constexpr (k == Facts::lets::size)
    return table;
  else {
    using Let = at_t<k, typename Facts::lets>;
    auto next = rewritten_let<Facts, k + 1>(table, find_let<Let>(loss));
    return rewritten_lets<Facts>(
        loss, appended(table, std::move(next), std::make_index_sequence<std::size_t(k)>{}));
  }
}

}  // namespace LOCUS_MODE
}  // namespace detail
}  // namespace locus
