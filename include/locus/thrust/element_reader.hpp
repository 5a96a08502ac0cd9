// SPDX-License-Identifier: Apache-2.0
// Readers: they compute element i of an expression of maps; i counts in row order.
#pragma once
#include <locus/core/pack.hpp>            // pack
#include <locus/expr/leaf.hpp>            // Leaf, ViewLeaf, Scalar, Index
#include <locus/expr/node.hpp>            // Node
#include <locus/ops/map.hpp>              // map_op
#include <locus/plan/plan.hpp>            // default_policy
#include <locus/thrust/operand_list.hpp>  // operand_list
#include <locus/work/rounding.hpp>        // functor_under

namespace locus {

namespace detail {
inline namespace LOCUS_MODE {

// A reader r has r(i), the value of element i, and for_each_pointer(visit), which visits its
// pointers.
template <class T>
struct array_reader {
  using type = compute_t<T>;
  void* data;
  LOCUS_HOST_DEVICE type operator()(std::int64_t i) const {
    return static_cast<type>(static_cast<T const*>(data)[i]);
  }
  template <class Visit>
  void for_each_pointer(Visit& visit) {
    visit(data);
  }
};
template <class T>
struct number_reader {
  using type = compute_t<T>;
  type value;
  LOCUS_HOST_DEVICE type operator()(std::int64_t) const { return value; }
  template <class Visit>
  void for_each_pointer(Visit&) {}
};
struct index_reader {
  using type = std::int64_t;
  LOCUS_HOST_DEVICE type operator()(std::int64_t i) const { return i; }
  template <class Visit>
  void for_each_pointer(Visit&) {}
};
template <class T, class F, class... Readers>
struct map_reader {
  using type = T;
  F f;
  pack<Readers...> of;
  LOCUS_HOST_DEVICE type operator()(std::int64_t i) const {
    return call(i, std::index_sequence_for<Readers...>{});
  }
  template <class Visit>
  void for_each_pointer(Visit& visit) {
    for_each_index<sizeof...(Readers)>([&](auto k) { get<k>(of).for_each_pointer(visit); });
  }

 private:
  LOCUS_EXEC_CHECK_DISABLE
  template <std::size_t... K>
  LOCUS_HOST_DEVICE type call(std::int64_t i, std::index_sequence<K...>) const {
    return static_cast<type>(f(get<K>(of)(i)...));
  }
};

/// means: true: the two patterns can have the same extents; dynamic ones are compared at run time
constexpr bool may_be_one_shape(shape const& a, shape const& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.extent[i] != b.extent[i] && a.extent[i] != dyn && b.extent[i] != dyn) return false;
  return true;
}
/// means: a map of that pattern does not broadcast the operand; a number has no elements to repeat
template <class Operand, class Map>
inline constexpr bool is_read_once = may_be_one_shape(Operand::pattern, Map::pattern);
template <class T, class Map>
inline constexpr bool is_read_once<Scalar<T>, Map> = true;

/// means: the expression reads memory of a GPU
template <class X>
inline constexpr bool reads_gpu = false;
template <class T, class E, class Where, class Source>
inline constexpr bool reads_gpu<Leaf<T, E, Where, Source>> = has_gpu(Where::value.devices);
template <class T, class E, class Where, bool Dense>
inline constexpr bool reads_gpu<ViewLeaf<T, E, Where, Dense>> = has_gpu(Where::value.devices);
template <class Op, class... Operands>
inline constexpr bool reads_gpu<Node<Op, Operands...>> = (reads_gpu<Operands> || ...);

/// means: the expression owns a tensor; perhaps it is the only owner
template <class X>
inline constexpr bool owns_tensor = false;
template <class T, class E, class Where>
inline constexpr bool owns_tensor<Leaf<T, E, Where, owned>> = true;
template <class Op, class... Operands>
inline constexpr bool owns_tensor<Node<Op, Operands...>> = (owns_tensor<Operands> || ...);

/// means: the reader of an expression; `all` records each of its operands
template <class X>
auto reader_of(X const&, operand_list&) {
  static_assert(always_false<X>,
                "locus: an iterator goes over maps of whole tensors; evaluate what else there is "
                "with eval(e)");
  return index_reader{};
}
template <class T, class E, class Where, class Source>
auto reader_of(Leaf<T, E, Where, Source> const& x, operand_list& all) {
  static_assert(
      single_device<Where>,
      "locus: an algorithm goes over elements of one device; bring replicas together with "
      "to<Device>(x)");
  tensor_block const* const b = x.source.find();
  if (!b) refuse_dead_leaf(row_of(element_of_v<T>).name, E::pattern, Where::value, all.count);
  all.add(b->where.at(0), b->pieces[0].data, b->extents, sizeof(T), false);
  return array_reader<T>{b->pieces[0].data};
}
template <class T, class E, class Where>
auto reader_of(ViewLeaf<T, E, Where, true> const& x, operand_list& all) {
  using V = std::remove_const_t<T>;
  device on = Where::value.at(0);
  if constexpr (open_device<Where>) on = x.on.value;
  all.add(on, x.data, x.extents, sizeof(T), false);
  return array_reader<V>{const_cast<V*>(x.data)};
}
template <class T>
auto reader_of(Scalar<T> const& x, operand_list&) {
  return number_reader<T>{static_cast<compute_t<T>>(x.value)};
}
template <class E>
auto reader_of(Index<E> const& x, operand_list& all) {
  all.require_extents(x.extents.as_shape());
  return index_reader{};
}
template <class F, class Op>
F functor_as(Op const& op) {
  if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F>)
    return F{};
  else
    return op.f;
}
template <class F, class... Operands>
auto reader_of(Node<map_op<F>, Operands...> const& x, operand_list& all) {
  static_assert(
      (is_read_once<Operands, Node<map_op<F>, Operands...>> && ...),
      "locus: an iterator goes over operands of one shape, and one of these is broadcast; "
      "evaluate the expression with eval(e)");
  using T = compute_t<typename Node<map_op<F>, Operands...>::value_type>;
  using functor = typename kernel::functor_under<numerics_of<default_policy>(), F>::type;
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    // in braces, so that operands are recorded in their order
    return map_reader<T, functor, decltype(reader_of(get<K>(x.operands), all))...>{
        functor_as<functor>(x.op), {{reader_of(get<K>(x.operands), all)}...}};
  }(std::index_sequence_for<Operands...>{});
}

}  // namespace LOCUS_MODE
}  // namespace detail

}  // namespace locus
