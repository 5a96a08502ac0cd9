// SPDX-License-Identifier: Apache-2.0
// Makes the functor of a kernel from the expression of a statement of maps, and finds its leaves.
#pragma once
#include <type_traits>  // is_empty
#include <utility>      // index_sequence

#include <locus/core/macros.hpp>     // LOCUS_MODE
#include <locus/core/type_list.hpp>  // type_list, concatenate_t
#include <locus/expr/leaf.hpp>       // Leaf, ViewLeaf, Scalar
#include <locus/ops/map.hpp>         // map_op
#include <locus/run/statement.hpp>   // statement_value
#include <locus/work/rounding.hpp>   // functor_under
#include <locus/work/stage.hpp>      // apply, input, constant

namespace locus {
template <axis_set Cut, std::int64_t... Ends>
struct slice_op;

inline namespace LOCUS_MODE {
namespace lowering {

/// means: the element types of the leaves, in order
template <class E>
struct statement_inputs {
  using type = type_list<typename E::value_type>;
};
template <class T>
struct statement_inputs<Scalar<T>> {
  using type = type_list<>;
};
template <class F, class... Es>
struct statement_inputs<Node<map_op<F>, Es...>> {
  using type = concatenate_t<typename statement_inputs<Es>::type...>;
};
template <class E>
inline constexpr int statement_leaves = statement_inputs<E>::type::size;

/// means: every leaf is a tensor, so its elements lie in row order without gaps
template <class E>
inline constexpr bool only_tensors = true;
template <class T, class E, class Where, bool Dense>
inline constexpr bool only_tensors<ViewLeaf<T, E, Where, Dense>> = false;
template <class F, class... Es>
inline constexpr bool only_tensors<Node<map_op<F>, Es...>> = (only_tensors<Es> && ...);

inline void note_leaf(tensor_block const*& to, tensor_block const* b) { to = b; }
inline void note_leaf(statement_value& to, tensor_block const* b) {
  to = b ? statement_value{b->pieces[0].data, &b->extents, b->pieces[0].strides, b}
         : statement_value{};
}

/// means: bind<First>(e, to) returns e as the tree of a kernel, whose leaves are inputs First,
///        First + 1, ...; sets to[First...] = the blocks of the tensors (null: a tensor has died),
///        or the values of the leaves
/// (each tree is constructed in its final place: a copy would read padding bytes, which have no
/// value)
template <numerics Numbers, class To>
struct statement_binder {
  template <class F>
  using functor = typename kernel::functor_under<Numbers, F>::type;
  template <class E, class F, class... Trees>
  using apply = kernel::apply<compute_t<typename E::value_type>, functor<F>, Trees...>;
  template <class F>
  static functor<F> functor_of(map_op<F> const& op) {
    if constexpr (std::is_empty_v<functor<F>> && std::is_default_constructible_v<functor<F>>)
      return {};
    else
      return op.f;
  }
  template <int First, class T, class E, class Where, class Source>
  [[gnu::always_inline]] static auto bind(Leaf<T, E, Where, Source> const& leaf, To* to) {
    note_leaf(to[First], leaf.source.find());
    return kernel::input<First, T>{};
  }
  template <int First, class T, class E, class Where, bool Dense>
  [[gnu::always_inline]] static auto bind(ViewLeaf<T, E, Where, Dense> const& leaf, To* to) {
    using Value = std::remove_const_t<T>;
    to[First] = {const_cast<Value*>(leaf.data), &leaf.extents, leaf.strides, nullptr};
    return kernel::input<First, Value>{};
  }
  template <int First, class T>
  [[gnu::always_inline]] static auto bind(Scalar<T> const& scalar, To*) {
    return kernel::constant<compute_t<T>>{scalar.value};
  }
  /// a slice, where To has room for its extents: see statement_of_parts
  template <int First, axis_set Cut, std::int64_t... Ends, class X>
  [[gnu::always_inline]] static auto bind(Node<slice_op<Cut, Ends...>, X> const& part, To* to) {
    using Value = typename X::value_type;
    statement_value whole;
    statement_binder<Numbers, statement_value>::template bind<0>(get<0>(part.operands), &whole);
    note_part(to[First], whole, part.op.ranges, Cut, int(sizeof(Value)));
    return kernel::input<First, Value>{};
  }
  template <int First, class F, class... Es>
  [[gnu::always_inline]] static auto bind(Node<map_op<F>, Es...> const& node, To* to) {
    return bind_operands<First>(node, to, std::index_sequence_for<Es...>{});
  }

 private:
  template <int First, class E>
  using tree = decltype(bind<First>(std::declval<E const&>(), static_cast<To*>(nullptr)));
  template <class... Es>
  static constexpr int leaves_before(int k) {
    int const leaves[] = {statement_leaves<Es>...};
    int sum = 0;
    while (k-- > 0) sum += leaves[k];
    return sum;
  }
  template <int First, class F, class... Es, std::size_t... K>
  [[gnu::always_inline]] static auto bind_operands(Node<map_op<F>, Es...> const& node, To* to,
                                                   std::index_sequence<K...>) {
    return apply<Node<map_op<F>, Es...>, F, tree<First + leaves_before<Es...>(int(K)), Es>...>{
        functor_of(node.op),
        {{bind<First + leaves_before<Es...>(int(K))>(get<K>(node.operands), to)}...}};
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
