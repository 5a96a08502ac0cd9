// SPDX-License-Identifier: Apache-2.0
// The operands of expressions, and the nodes that they become.
#pragma once
#include <type_traits>  // remove_cvref
#include <utility>      // forward, in_range

#include <locus/core/error.hpp>     // shape_error
#include <locus/core/macros.hpp>    // LOCUS_MODE
#include <locus/expr/leaf.hpp>      // Scalar
#include <locus/shape/element.hpp>  // promote_t

namespace locus {

template <class E>
concept expression = requires {
  E::steps;
  E::pattern;
  typename E::lets;
};
/// a Tensor or a view: has leaf()
template <class E>
concept tensor = requires { typename E::is_tensor; };
template <class E>
concept tensor_operand = expression<std::remove_cvref_t<E>> || tensor<std::remove_cvref_t<E>>;
namespace internal {
/// means: the element type that a host number has by itself; void for what is no number.
///        std::complex<float> is a complex<float>
template <class N>
struct number_type {
  using type =
      std::conditional_t<std::is_arithmetic_v<N> || is_narrow_v<N> || is_complex_v<N>, N, void>;
};
template <class N>
  requires complex_elsewhere<N, float> || complex_elsewhere<N, double>
struct number_type<N> {
  using type = complex<typename N::value_type>;
};
template <class N>
using number_type_t = typename number_type<std::remove_cvref_t<N>>::type;
}  // namespace internal

template <class E>
concept number = !std::is_void_v<internal::number_type_t<E>>;
template <class E>
concept operand = tensor_operand<E> || number<E>;

/// means: the element type of an operand; void for a host number, which takes that of a tensor
template <class E>
struct element_of {
  using type = void;
};
template <class E>
  requires tensor_operand<E>
struct element_of<E> {
  using type = typename std::remove_cvref_t<E>::value_type;
};
template <class E>
using element_of_t = typename element_of<E>::type;

/// means: a host number of that type converts to element type T: both have the same kind, or T has
///        a kind that holds the number's: integers, floats, complex numbers
template <class Number, class T>
inline constexpr bool number_fits_v =
    std::is_same_v<Number, bool> || std::is_same_v<T, bool> ? std::is_same_v<Number, T>
    : is_complex_v<internal::number_type_t<Number>>         ? is_complex_v<T>
    : is_integer_v<T>                                       ? std::is_integral_v<Number>
                                                            : is_floating_v<T> || is_complex_v<T>;

namespace internal {

/// means: n as a T
/// fails: shape_error, for an integer that T cannot hold
template <class T, class Number>
constexpr T checked_number(Number n) {
  if constexpr (is_integer_v<T>)
    if (!std::in_range<T>(+n)) {  // + makes an int of a character
      message text;
      throw shape_error(
          text << "locus: the number "
               << std::conditional_t<std::is_signed_v<decltype(+n)>, std::int64_t, std::size_t>(n)
               << " does not fit into " << row_of(element_of_v<T>).name
               << " elements; cast the tensor to a wider type");
    }
  if constexpr (is_complex_v<T> && is_complex_v<number_type_t<Number>>)
    return {static_cast<real_t<T>>(n.real()), static_cast<real_t<T>>(n.imag())};
  else
    return static_cast<T>(n);
}
/// means: the type of a host number beside tensors whose common element type is Weak: Weak, but a
///        real number beside complex ones stays real, and a complex one beside floats makes complex
///        numbers of them; void where the number does not fit
template <class Number, class Weak>
consteval auto number_beside() {
  using N = number_type_t<Number>;
  if constexpr (is_complex_v<N> && is_floating_v<Weak>)
    return std::type_identity<complex<compute_t<Weak>>>{};
  else if constexpr (!number_fits_v<N, Weak>)
    return std::type_identity<void>{};
  else if constexpr (is_complex_v<Weak> && !is_complex_v<N>)
    return std::type_identity<real_t<Weak>>{};
  else
    return std::type_identity<Weak>{};
}
template <class Number, class Weak>
using number_beside_t = typename decltype(number_beside<Number, Weak>())::type;

/// E is a call with several results, or such a call under a name
template <class E>
inline constexpr bool has_several_results = false;
template <class E>
constexpr void refuse_several_results() {
  static_assert(always_false<E>,
                "locus: a call with several results stands where one is read; write "
                "auto [values, places] = top_k<2>(x), or result<0>(top_k<2>(x))");
}

}  // namespace internal

inline namespace LOCUS_MODE {

/// means: the form of an operand inside an expression: the leaf of a tensor, an expression
///        unchanged, or a Scalar of type Weak for a number. A name may stand for Several results
template <class Weak, operand X, bool Several = false>
constexpr auto as_operand(X&& x) {
  using D = std::remove_cvref_t<X>;
  if constexpr (tensor<D>)
    return static_cast<X&&>(x).leaf();
  else if constexpr (expression<D>) {
    if constexpr (!Several && internal::has_several_results<D>)
      internal::refuse_several_results<D>();
    return D(static_cast<X&&>(x));
  } else if constexpr (std::is_void_v<Weak>)
    return Scalar<internal::number_type_t<D>>{x};
  else {
    using N = internal::number_beside_t<D, Weak>;
    return Scalar<N>{internal::checked_number<N>(x)};
  }
}

/// means: the expression type of an operand
template <class X>
using expression_of_t = decltype(as_operand<void>(std::declval<X>()));

}  // namespace LOCUS_MODE

}  // namespace locus
