// SPDX-License-Identifier: Apache-2.0
// Lifetime marks on the operands of functions: clang warns where an expression outlives a tensor
// that it points to. [[clang::lifetimebound]] marks operands that the result points to: a Tensor
// lvalue, and an expression, with all tensors that it points to. A Tensor rvalue is owned by the
// result and has no mark. Other compilers have no such warning and need one function instead of
// several.
#pragma once
#include <type_traits>  // is_base_of

#include <locus/core/macros.hpp>   // LOCUS_LIFETIMES
#include <locus/expr/operand.hpp>  // operand, tensor_operand

namespace locus {

/// Two operands, at least one of them a tensor: the operands of locus' binary operators.
template <class Lhs, class Rhs>
concept tensor_pair = operand<Lhs> && operand<Rhs> && (tensor_operand<Lhs> || tensor_operand<Rhs>);

/// A Tensor, not a reference to one. All other operands are cheap to copy.
template <class X>
concept owning_operand = std::is_base_of_v<tensor_base, X>;

}  // namespace locus

// means: defines constexpr auto function(x) { return build(x); }, and the same for (a, b). The
//        third argument is a functor, with a comma after it, to pass to build in front of x.
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
