// SPDX-License-Identifier: Apache-2.0
// complex<T> before its definition: which types are complex numbers, of locus and of other libraries.
#pragma once
#include <concepts>     // same_as
#include <type_traits>  // is_class

#include <locus/core/forward.hpp>  // complex

namespace locus {

template <class T>
inline constexpr bool is_complex_v = false;
template <>
inline constexpr bool is_complex_v<complex<float>> = true;
template <>
inline constexpr bool is_complex_v<complex<double>> = true;

namespace internal {
/// means: C is a complex number of another library, with parts of type T
template <class C, class T>
concept complex_elsewhere = std::is_class_v<C> && !is_complex_v<C> && requires(C const& c) {
  requires std::same_as<typename C::value_type, T>;
  { c.real() } -> std::same_as<T>;
  { c.imag() } -> std::same_as<T>;
  C(T(), T());
};

template <class T>
struct stored_as {
  using type = T;
};
template <class C>
  requires internal::complex_elsewhere<std::remove_const_t<C>, float> ||
           internal::complex_elsewhere<std::remove_const_t<C>, double>
struct stored_as<C> {
  using number = complex<typename C::value_type>;
  using type = std::conditional_t<std::is_const_v<C>, number const, number>;
};
/// means: the element type of memory of T: complex<float> for std::complex<float>, T for what is no
///        complex number
template <class T>
using stored_as_t = typename stored_as<T>::type;
template <class T>
stored_as_t<T>* as_elements(T* p) {
  if constexpr (std::is_same_v<T, stored_as_t<T>>)
    return p;
  else
    return reinterpret_cast<stored_as_t<T>*>(p);
}
}  // namespace internal

}  // namespace locus
