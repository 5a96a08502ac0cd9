// SPDX-License-Identifier: Apache-2.0
// How functions of one and of two operands take them, so that clang says where an expression outlives a
// tensor that it points to. What a call gives points to what its parameters marked with
// [[clang::lifetimebound]] do: a tensor that has a name, and whatever an expression points to. A tensor
// that is given away is owned, and is not marked. Other compilers have no such warning, and one function.
#pragma once
#include <type_traits>  // is_base_of

#include <locus/core/macros.hpp>   // LOCUS_LIFETIMES
#include <locus/expr/operand.hpp>  // operand, tensor_operand

namespace locus {

/// Two operands of which one is a tensor: what the operators of locus take.
template <class Lhs, class Rhs>
concept tensor_pair = operand<Lhs> && operand<Rhs> && (tensor_operand<Lhs> || tensor_operand<Rhs>);

/// A Tensor, no reference to one. All other operands are cheap to copy.
template <class X>
concept owning_operand = std::is_base_of_v<tensor_base, X>;

}  // namespace locus

// means: constexpr auto function(x) { return build(x); }, and the same of (a, b). What stands in front
//        of x in the call of build, a functor, comes last, with its comma.
#if LOCUS_LIFETIMES
#define LOCUS_OF_ONE(function, build, ...)                 \
  template <class X>                                       \
    requires(tensor_operand<X> && owning_operand<X>)       \
  constexpr auto function(X& x [[clang::lifetimebound]]) { \
    return build(__VA_ARGS__ x);                           \
  }                                                        \
  template <class X>                                       \
    requires(tensor_operand<X> && !owning_operand<X>)      \
  constexpr auto function(X x [[clang::lifetimebound]]) {  \
    return build(__VA_ARGS__ static_cast<X&&>(x));         \
  }                                                        \
  template <class X>                                       \
    requires(tensor_operand<X> && owning_operand<X>)       \
  constexpr auto function(X&& x) {                         \
    return build(__VA_ARGS__ static_cast<X&&>(x));         \
  }
#define LOCUS_OF_TWO(function, build, ...)                                                    \
  template <class Lhs, class Rhs>                                                             \
    requires(tensor_pair<Lhs, Rhs> && owning_operand<Lhs> && owning_operand<Rhs>)             \
  constexpr auto function(Lhs& a [[clang::lifetimebound]], Rhs& b [[clang::lifetimebound]]) { \
    return build(__VA_ARGS__ a, b);                                                           \
  }                                                                                           \
  template <class Lhs, class Rhs>                                                             \
    requires(tensor_pair<Lhs, Rhs> && owning_operand<Lhs> && !owning_operand<Rhs>)            \
  constexpr auto function(Lhs& a [[clang::lifetimebound]], Rhs b [[clang::lifetimebound]]) {  \
    return build(__VA_ARGS__ a, static_cast<Rhs&&>(b));                                       \
  }                                                                                           \
  template <class Lhs, class Rhs>                                                             \
    requires(tensor_pair<Lhs, Rhs> && !owning_operand<Lhs> && owning_operand<Rhs>)            \
  constexpr auto function(Lhs a [[clang::lifetimebound]], Rhs& b [[clang::lifetimebound]]) {  \
    return build(__VA_ARGS__ static_cast<Lhs&&>(a), b);                                       \
  }                                                                                           \
  template <class Lhs, class Rhs>                                                             \
    requires(tensor_pair<Lhs, Rhs> && !owning_operand<Lhs> && !owning_operand<Rhs>)           \
  constexpr auto function(Lhs a [[clang::lifetimebound]], Rhs b [[clang::lifetimebound]]) {   \
    return build(__VA_ARGS__ static_cast<Lhs&&>(a), static_cast<Rhs&&>(b));                   \
  }                                                                                           \
  template <class Lhs, class Rhs>                                                             \
    requires(tensor_pair<Lhs, Rhs> && (owning_operand<Lhs> || owning_operand<Rhs>))           \
  constexpr auto function(Lhs&& a, Rhs&& b) {                                                 \
    return build(__VA_ARGS__ static_cast<Lhs&&>(a), static_cast<Rhs&&>(b));                   \
  }
#else
#define LOCUS_OF_ONE(function, build, ...)         \
  template <tensor_operand X>                      \
  constexpr auto function(X&& x) {                 \
    return build(__VA_ARGS__ static_cast<X&&>(x)); \
  }
#define LOCUS_OF_TWO(function, build, ...)                                  \
  template <class Lhs, class Rhs>                                           \
    requires tensor_pair<Lhs, Rhs>                                          \
  constexpr auto function(Lhs&& a, Rhs&& b) {                               \
    return build(__VA_ARGS__ static_cast<Lhs&&>(a), static_cast<Rhs&&>(b)); \
  }
#endif
