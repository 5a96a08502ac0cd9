// SPDX-License-Identifier: Apache-2.0
// Expressions of maps as iterators: Thrust's and the standard library's algorithms read them without a tensor in between.
#pragma once
#include <cstddef>   // ptrdiff_t
#include <iterator>  // random_access_iterator_tag

#include <locus/backend/stamps.hpp>   // meet_arrivals, synchronize
#include <locus/core/error.hpp>       // shape_error, placement_error
#include <locus/expr/node.hpp>        // Node
#include <locus/kernel/rounding.hpp>  // functor_under
#include <locus/ops/map.hpp>          // map_op
#include <locus/plan/plan.hpp>        // default_policy
#include <locus/tensor/tensor.hpp>    // Tensor
#include <locus/tensor/view.hpp>      // View

namespace locus {

namespace detail {
inline namespace LOCUS_MODE {

// A reader gives element i of an expression, in row order; visit(pointer) sees where it reads.
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

/// The device and the number of elements that the operands of an algorithm share.
struct operand_list {
  static constexpr int most = 16;
  device on{};               // none: nothing lies in memory yet
  std::int64_t n = -1;       // elements of each
  shape extents = no_shape;  // of all that the operand being read is made of
  touched memory[most];      // those that are read, behind those that are written
  int count = 0;

  /// means: another operand is read, in row order of its own extents
  void begin_operand() { extents = no_shape; }
  void add(device d, void const* first, shape const& own, int bytes, bool writes) {
    if (!on.is_none() && !(on == d)) {
      message text;
      throw placement_error(
          text << "locus: an algorithm runs on one device, and its operands lie on " << on
               << " and " << d << "; bring one over with to<Device>(x)");
    }
    on = d;
    require_extents(own);
    if (count == most)
      throw shape_error(
          "locus: an algorithm has more than 16 operands; evaluate some with eval(e)");
    memory[count++] = {first, static_cast<std::size_t>(own.size() * bytes), writes};
  }
  /// fails: shape_error, for parts of one expression that are not of one shape, and for operands of other sizes
  void require_extents(shape const& own) {
    if (fits(extents) && extents != own) {
      message text;
      throw shape_error(
          text << "locus: an iterator goes over operands of one shape, and these have " << extents
               << " and " << own << "; evaluate the expression with eval(e)");
    }
    extents = own;
    if (n >= 0 && n != own.size()) {
      message text;
      throw shape_error(text << "locus: operands of an algorithm have " << n << " and "
                             << own.size() << " elements; make them equally large");
    }
    n = own.size();
  }
};

/// means: two patterns can be of one shape; extents that are known later are compared then
constexpr bool may_be_one_shape(shape const& a, shape const& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.extent[i] != b.extent[i] && a.extent[i] != dyn && b.extent[i] != dyn) return false;
  return true;
}
/// means: an operand is not broadcast by a map of that pattern; a number has no elements to repeat
template <class Operand, class Map>
inline constexpr bool is_read_once = may_be_one_shape(Operand::pattern, Map::pattern);
template <class T, class Map>
inline constexpr bool is_read_once<Scalar<T>, Map> = true;

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
    // in braces, so that operands are seen in their order
    return map_reader<T, functor, decltype(reader_of(get<K>(x.operands), all))...>{
        functor_as<functor>(x.op), {{reader_of(get<K>(x.operands), all)}...}};
  }(std::index_sequence_for<Operands...>{});
}

}  // namespace LOCUS_MODE
}  // namespace detail

inline namespace LOCUS_MODE {

/// means: the elements of an expression of maps in row order, computed where they are read; on a GPU for kernels
///        alone. Its tensors must live and stay where they are.
/// after: thrust::transform_iterator
template <class Reader, class T>
struct element_iterator {
  using value_type = T;
  using reference = T;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  Reader read;
  difference_type at = 0;

  LOCUS_HOST_DEVICE T operator*() const { return static_cast<T>(read(at)); }
  LOCUS_HOST_DEVICE T operator[](difference_type n) const { return static_cast<T>(read(at + n)); }
  LOCUS_HOST_DEVICE element_iterator& operator+=(difference_type n) {
    at += n;
    return *this;
  }
  LOCUS_HOST_DEVICE element_iterator& operator-=(difference_type n) { return *this += -n; }
  LOCUS_HOST_DEVICE element_iterator& operator++() { return *this += 1; }
  LOCUS_HOST_DEVICE element_iterator& operator--() { return *this += -1; }
  LOCUS_HOST_DEVICE element_iterator operator++(int) {
    element_iterator const before = *this;
    ++at;
    return before;
  }
  LOCUS_HOST_DEVICE element_iterator operator--(int) {
    element_iterator const before = *this;
    --at;
    return before;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator+(element_iterator i, difference_type n) {
    return i += n;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator+(difference_type n, element_iterator i) {
    return i += n;
  }
  LOCUS_HOST_DEVICE friend element_iterator operator-(element_iterator i, difference_type n) {
    return i -= n;
  }
  LOCUS_HOST_DEVICE friend difference_type operator-(element_iterator const& a,
                                                     element_iterator const& b) {
    return a.at - b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator==(element_iterator const& a, element_iterator const& b) {
    return a.at == b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator!=(element_iterator const& a, element_iterator const& b) {
    return a.at != b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator<(element_iterator const& a, element_iterator const& b) {
    return a.at < b.at;
  }
  LOCUS_HOST_DEVICE friend bool operator>(element_iterator const& a, element_iterator const& b) {
    return b < a;
  }
  LOCUS_HOST_DEVICE friend bool operator<=(element_iterator const& a, element_iterator const& b) {
    return !(b < a);
  }
  LOCUS_HOST_DEVICE friend bool operator>=(element_iterator const& a, element_iterator const& b) {
    return !(a < b);
  }
};

}  // namespace LOCUS_MODE

namespace detail {
inline namespace LOCUS_MODE {
/// means: the first element of an operand that is read
template <class X>
auto first_of(X const& x, operand_list& all) {
  auto const e = as_operand<void>(x);
  all.begin_operand();
  using reader = decltype(reader_of(e, all));
  return element_iterator<reader, typename std::remove_cvref_t<decltype(e)>::value_type>{
      reader_of(e, all)};
}
}  // namespace LOCUS_MODE
}  // namespace detail

}  // namespace locus
