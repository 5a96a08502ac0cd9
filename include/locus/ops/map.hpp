// SPDX-License-Identifier: Apache-2.0
// map: a functor as an element-wise operation; how element-wise nodes are built and checked.
#pragma once
#include <type_traits>  // invoke_result
#include <utility>      // forward

#include <locus/core/macros.hpp>   // LOCUS_MODE
#include <locus/expr/node.hpp>     // Node, make_node
#include <locus/expr/operand.hpp>  // as_operand, element_of_t
#include <locus/ops/functors.hpp>  // identity_fn
#include <locus/shape/shape.hpp>   // broadcast

namespace locus {

namespace detail {
// The element type that a host number takes: the common type of the tensors beside it; else void.
template <class Number, class... Ts>
struct weak {
  using type = void;
};
template <class Number, class T>
struct weak<Number, T> {
  using type = T;
};
template <class Number, class T, class U, class... Ts>
struct weak<Number, T, U, Ts...> : weak<Number, promote_t<T, U>, Ts...> {};
template <class List>
struct weak_of;
template <class... Ts>
struct weak_of<type_list<Ts...>> : weak<void, Ts...> {};

// The element type of F's result. F computes with compute_t of its operands. Where F is a functor
// of locus that computes halves as floats, the result is a half again, unless F names another type
// in `makes`.
template <bool OfNarrow>
struct made_by {
  template <class F, class... T>
  using type = std::remove_cvref_t<std::invoke_result_t<F const&, T...>>;
};
template <class F, class Computed, class... T>
struct made_of_narrow {
  using type = Computed;
};
template <class F, class... T>
  requires(
      requires { F::op; } && !requires { typename F::makes; })
struct made_of_narrow<F, float, T...>
    : weak_of<concatenate_t<std::conditional_t<is_floating_v<T>, type_list<T>, type_list<>>...>> {};
template <>
struct made_by<true> {
  template <class F, class... T>
  using type = typename made_of_narrow<
      F, std::remove_cvref_t<std::invoke_result_t<F const&, compute_t<T>...>>, T...>::type;
};
}  // namespace detail

/// means: r[i] = f(operands[i]...)     shape: NumPy broadcasting
template <class F>
struct map_op {
  using functor = F;
  using named = F;  // its name stands in texts of errors
  static constexpr step_kind kind = step_kind::map;
  static constexpr operation op = operation_of<F>();
  [[no_unique_address]] F f;
  constexpr explicit map_op(F functor_object = {}) : f(std::move(functor_object)) {}

  template <class... T>
  using result = typename detail::made_by<(is_narrow_v<T> || ...)>::template type<F, T...>;
  static constexpr shape infer(shape a) { return a; }
  static constexpr shape infer(shape a, auto... more) { return broadcast(a, infer(more...)); }
  template <class... T>
  static constexpr void describe(step& s, int) {
    s.commutes = law_of<F, T...>();
    s.builtin = requires { F::op; };
  }
};

// ---- errors: one sentence, then the types ----
template <class Operation, class... OperandExtents>
struct shapes_do_not_fit;  // the second error prints its arguments
template <class Operation, class... ElementTypes>
struct element_types_do_not_fit;  // void: a host number

namespace internal {

/// means: the extents of E in the constant plan, as a static member; dyn where they are open
template <class E>
struct pattern_of {
  static constexpr shape value = E::pattern;
};
/// means: the type Extents<...> of the values of E
template <class E>
using extents_of = extents_of_shape_t<pattern_of<E>>;

}  // namespace internal

namespace detail {

template <class Named, bool Fits>
consteval bool shapes_fit() {
  if constexpr (requires { Named::template require_shapes<true>(); })
    return Named::template require_shapes<Fits>();
  else {
    static_assert(
        Fits, "locus: the shapes of the operands of a functor do not fit; they are printed below");
    return Fits;
  }
}
template <class Named, bool Fits>
consteval bool elements_fit() {
  if constexpr (requires { Named::template require_elements<true>(); })
    return Named::template require_elements<Fits>();
  else {
    static_assert(Fits,
                  "locus: a functor does not take these element types; write cast<float>(x) or "
                  "another overload");
    return Fits;
  }
}

}  // namespace detail

namespace internal {

/// means: the node of op over operands, after a check that their shapes fit (the check is a
///        constant expression, because g++ would print the sentence of a plain call last)
template <class Named, class Op, class... Es>
constexpr auto checked_node(Op op, Es... es) {
  if constexpr (shapes_fit<Named, fits(Op::infer(Es::pattern...))>())
    return make_node(std::move(op), std::move(es)...);
  else
    return sizeof(shapes_do_not_fit<Named, internal::extents_of<Es>...>);
}

}  // namespace internal

namespace detail {

template <class F, class... T>
consteval bool has_kernel() {
  if constexpr (!(true && ... && !std::is_void_v<T>) ||
                !std::is_invocable_v<F const&, compute_t<T>...>)
    return false;
  else if constexpr (std::is_void_v<std::invoke_result_t<F const&, compute_t<T>...>>)
    return false;
  else {
    operation const row = operation_of<F>();
    return (row.cpu.contains(element_of_v<T>) && ...) || (row.gpu.contains(element_of_v<T>) && ...);
  }
}

/// the element types of the tensors among operands
template <class... Xs>
using tensor_elements_t = concatenate_t<
    std::conditional_t<tensor_operand<Xs>, type_list<element_of_t<Xs>>, type_list<>>...>;

template <class Weak, class X>
using seen_as_t = typename std::conditional_t<
    tensor_operand<X>, element_of<X>,
    std::type_identity<internal::number_beside_t<std::remove_cvref_t<X>, Weak>>>::type;

inline namespace LOCUS_MODE {
template <class Weak, class X>
using operand_as_t = decltype(as_operand<Weak>(std::declval<X>()));
/// means: functor F over operands; host numbers take the tensors' common element type
/// (operands are made inside the node: a copy of a leaf is code, and programs have many statements)
template <class F, class... Xs>
constexpr auto elementwise(F f, Xs&&... xs) {
  using Weak = typename weak_of<tensor_elements_t<Xs...>>::type;
  if constexpr (elements_fit<F, has_kernel<F, seen_as_t<Weak, Xs>...>()>()) {
    using Made = Node<map_op<F>, operand_as_t<Weak, Xs&&>...>;
    if constexpr (shapes_fit<F, fits(Made::pattern)>())
      return Made{map_op<F>{std::move(f)}, {{as_operand<Weak>(std::forward<Xs>(xs))}...}};
    else
      return sizeof(shapes_do_not_fit<F, internal::extents_of<operand_as_t<Weak, Xs&&>>...>);
  } else
    return sizeof(element_types_do_not_fit<F, element_of_t<Xs>...>);
}
}  // namespace LOCUS_MODE

}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[i] = f(x[i]...); a host number is captured by value; f is called with a float for a
///        half
/// shape: NumPy broadcasting     device: sides that f lists in `kernels`; without it, the CPU
/// cost:  fused with its element-wise neighbours
/// fails: at compile time, when f does not take these element types or the shapes do not fit
template <class F, operand... Xs>
  requires(sizeof...(Xs) > 0 && (tensor_operand<Xs> || ...))
constexpr auto map(F f, Xs&&... xs) {
  if constexpr (detail::elements_fit<
                    F, std::is_invocable_v<
                           F const&, compute_t<typename expression_of_t<Xs>::value_type>...>>())
    return internal::checked_node<F>(map_op<F>{std::move(f)},
                                     as_operand<void>(std::forward<Xs>(xs))...);
  else
    return sizeof(element_types_do_not_fit<F, element_of_t<Xs>...>);
}
template <tensor_operand X, class F>
  requires(!operand<F>)
constexpr auto map(X const&, F const&) {
  static_assert(always_false<X>, "locus: map takes its function first; write map(f, x)");
}

}  // namespace LOCUS_MODE

/// means: f with kernels on both sides: a lambda marked LOCUS_HOST_DEVICE has no member `kernels`
///        to say so
template <class F>
struct HostDevice {
  static constexpr auto kernels = on_both;
  F f;  // without [[no_unique_address]], which would give it no byte in nvcc's code for GPUs
  LOCUS_EXEC_CHECK_DISABLE
  template <class... T>
  LOCUS_HOST_DEVICE constexpr auto operator()(T... v) const -> decltype(f(v...)) {
    return f(v...);
  }
};
namespace detail {
template <class F>
inline constexpr bool is_closure_class = false;
template <template <bool, bool, bool, class, class, class...> class Class, bool A, bool B, bool C,
          class Tag, class Call, class... Captured>
inline constexpr bool is_closure_class<Class<A, B, C, Tag, Call, Captured...>> = true;
}  // namespace detail
/// means: F is the closure type that nvcc gives its host compiler for a lambda marked for both
///        sides
template <class F>
inline constexpr bool is_nvcc_closure = detail::is_closure_class<F>;
template <class F>
inline constexpr bool is_nvcc_closure<HostDevice<F>> = detail::is_closure_class<F>;

/// means: a lambda, or another functor, that has kernels on both sides:
///            map(host_device([=] LOCUS_HOST_DEVICE (float v) { return a * v; }), x)
/// fails: in nvcc, for lambdas without --extended-lambda
template <class F>
constexpr HostDevice<F> host_device(F f) {
  return {static_cast<F&&>(f)};
}

}  // namespace locus
