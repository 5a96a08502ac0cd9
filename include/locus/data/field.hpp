// SPDX-License-Identifier: Apache-2.0
// The components of a dataset's elements: numbers, rows of host tensors, host tensors, arrays.
#pragma once
#include <array>  // array
#include <tuple>  // tuple

#include <locus/tensor/view.hpp>  // Tensor, view

namespace locus::data {

/// means: one row of a host tensor, without owning it: an argument of map's function
/// shape: E, the axes after the first
template <class T, class E>
class example {
 public:
  using value_type = T;
  using extents_type = E;
  example(T const* data, E const& extents) : data_(data) {
    if constexpr (!E::pattern.is_static()) extents_ = extents;
  }
  static constexpr int rank() { return E::rank(); }
  E extents() const {
    if constexpr (E::pattern.is_static())
      return E();
    else
      return extents_;
  }
  std::int64_t extent(int axis) const { return extents().extent(axis); }
  std::int64_t size() const { return extents().as_shape().size(); }
  T const* data() const { return data_; }
  T const* begin() const { return data_; }
  T const* end() const { return data_ + size(); }
  template <std::integral... Idx>
    requires(int(sizeof...(Idx)) == E::rank())
  T const& operator()(Idx... i) const {
    std::int64_t const at[] = {static_cast<std::int64_t>(i)...};
    std::int64_t offset = 0;
    for (int a = 0; a < rank(); ++a) offset = offset * extent(a) + at[a];
    return data_[offset];
  }

 private:
  struct in_the_type {};
  T const* data_;
  [[no_unique_address]] std::conditional_t<E::pattern.is_static(), in_the_type, E> extents_;
};

namespace detail {

template <class T>
inline constexpr bool is_scalar =
    std::is_arithmetic_v<T> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// means: elements in row order: their type, extents and address
template <class X>
struct field {
  static constexpr bool exists = false;
  using value_type = char;  // lets a static_assert print its sentence
  using extents_type = Extents<>;
};
template <class X>
  requires is_scalar<X>
struct field<X> {
  static constexpr bool exists = true;
  using value_type = X;
  using extents_type = Extents<>;
  static X const* data(X const& x) { return &x; }
  static Extents<> extents(X const&) { return {}; }
};
template <class X>
struct field_with_extents {
  static constexpr bool exists = true;
  using value_type = typename X::value_type;
  using extents_type = typename X::extents_type;
  static value_type const* data(X const& x) { return x.data(); }
  static extents_type extents(X const& x) { return x.extents(); }
};
template <class T, class E>
struct field<example<T, E>> : field_with_extents<example<T, E>> {};
template <class T, class E>
struct field<Tensor<T, E, CpuDevice>> : field_with_extents<Tensor<T, E, CpuDevice>> {};
template <class T, std::size_t N>
  requires is_scalar<T>
struct field<std::array<T, N>> {
  static constexpr bool exists = true;
  using value_type = T;
  using extents_type = Extents<std::int64_t(N)>;
  static T const* data(std::array<T, N> const& x) { return x.data(); }
  static extents_type extents(std::array<T, N> const&) { return {}; }
};

/// dyn before the extents, the axis of the batch; row_extents: without the first
template <class E>
struct batch_extents;
template <std::int64_t... Rest>
struct batch_extents<Extents<Rest...>> {
  using type = Extents<dyn, Rest...>;
};
template <class E>
struct row_extents;
template <std::int64_t First, std::int64_t... Rest>
struct row_extents<Extents<First, Rest...>> {
  using type = Extents<Rest...>;
};

/// means: the type of a batch of such components, on the host
template <class Field>
using batch_tensor =
    Tensor<typename field<Field>::value_type,
           typename batch_extents<typename field<Field>::extents_type>::type, CpuDevice>;

/// the element type for a function's result: a tuple stays a tuple
template <class R>
struct as_element {
  using type = std::tuple<R>;
};
template <class... F>
struct as_element<std::tuple<F...>> {
  using type = std::tuple<F...>;
};
template <class A, class B>
struct as_element<std::pair<A, B>> {
  using type = std::tuple<A, B>;
};
template <class R>
using as_element_t = typename as_element<std::remove_cvref_t<R>>::type;

}  // namespace detail

}  // namespace locus::data
