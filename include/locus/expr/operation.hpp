// SPDX-License-Identifier: Apache-2.0
// The facts about an operation that the passes need, and how a functor states them.
#pragma once
#include <string_view>  // string_view
#include <type_traits>  // invoke_result

#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE
#include <locus/shape/element.hpp>  // element_set

namespace locus {

/// How an operation commutes with a sum of terms; the table of distributions needs it.
enum class law : unsigned char {
  none,       // no such rule
  linear,     // f(a + b) = f(a) + f(b): negate, a widening cast, a change of order
  add,        // f(a, b) + f(c, d) = f(a + c, b + d): plus and minus of two values
  scale,      // linear in one operand while the others stay: times
  scale_left  // linear in the first operand while the second stays: divided by
};

/// The part of an operation after a matrix product, for a library that computes both in one kernel.
enum class product_end : unsigned char {
  none,
  row,     // a row is added to each row of the product
  relu,    // max(x, 0); NVIDIA does not say that NaN stays NaN
  chosen,  // the functor tells at run time: none, relu, or chosen (no library has it)
};

/// One row of the table of operations.
struct operation {
  std::string_view name;        // in texts of locus
  std::string_view tensorflow;  // in the placement log
  law commutes = law::none;
  element_set cpu = no_elements, gpu = no_elements;  // operand types with a kernel on that side
  bool heavy = false;  // costs more than a few cycles: not repeated for a broadcast
  product_end ends = product_end::none;
};

enum class kernels_on : unsigned char { cpu = 1, gpu = 2, both = 3 };
/// Written in a functor: `static constexpr auto kernels = on_both;`. Without it: on_cpu.
inline constexpr auto on_cpu = kernels_on::cpu;
inline constexpr auto on_gpu = kernels_on::gpu;
inline constexpr auto on_both = kernels_on::both;

namespace detail {
template <class F>
constexpr std::string_view functor_name() {
  if constexpr (requires { F::name; })
    return F::name;
  else
    return "map";
}
template <class F>
constexpr bool functor_on(kernels_on side) {
  if constexpr (requires { F::kernels; })
    return (static_cast<int>(F::kernels) & static_cast<int>(side)) != 0;
  else
    return side == on_cpu;
}
template <class F>
constexpr product_end functor_end() {
  if constexpr (requires { F::ends_product; })
    return F::ends_product;
  else
    return product_end::none;
}
}  // namespace detail

/// means: the row of functor F; a functor of the user's own gets one from its `name` and `kernels`
template <class F>
constexpr operation operation_of() {
  if constexpr (requires { F::op; })
    return F::op;
  else
    return {detail::functor_name<F>(),
            detail::functor_name<F>(),
            law::none,
            detail::functor_on<F>(on_cpu) ? any_element : no_elements,
            detail::functor_on<F>(on_gpu) ? any_element : no_elements,
            true,
            detail::functor_end<F>()};
}

/// means: how F commutes with sums when its operands have element types T...
template <class F, class... T>
constexpr law law_of() {
  if constexpr (requires { F::template law_for<T...>(); })
    return F::template law_for<T...>();
  else
    return operation_of<F>().commutes;
}

// A static_assert's text is a literal in C++20: only a macro can insert an operation's name.
#define LOCUS_SENTENCES(text)                                                                    \
  template <bool Holds>                                                                          \
  static consteval bool require_gpu_kernel() {                                                   \
    static_assert(Holds, "locus: '" text "' has no GPU kernel and placement is strict; drop "    \
                         "strict, or place it with on<CpuDevice>");                              \
    return Holds;                                                                                \
  }                                                                                              \
  template <bool Holds>                                                                          \
  static consteval bool require_cpu_kernel() {                                                   \
    static_assert(Holds, "locus: '" text "' has no CPU kernel and placement is strict; drop "    \
                         "strict, or place it with on<GpuDevice<0>>");                           \
    return Holds;                                                                                \
  }                                                                                              \
  template <bool Holds>                                                                          \
  static consteval bool require_shapes() {                                                       \
    static_assert(Holds, "locus: the shapes of the operands of '" text "' do not fit; they are " \
                         "printed below");                                                       \
    return Holds;                                                                                \
  }                                                                                              \
  template <bool Holds>                                                                          \
  static consteval bool require_elements() {                                                     \
    static_assert(Holds, "locus: '" text "' does not take these element types together; write "  \
                         "cast<float>(x) or another type");                                      \
    return Holds;                                                                                \
  }                                                                                              \
  template <bool Holds>                                                                          \
  static consteval bool require_derivative() {                                                   \
    static_assert(Holds, "locus: no gradient passes '" text "'; write stop_gradient(e) around "  \
                         "it, or give a functor of your own a derivative(y, x...)");             \
    return Holds;                                                                                \
  }

/// Written in a functor: its name, also for the texts of its errors, and the sides with a kernel.
///     struct Legacy { LOCUS_OPERATION("legacy", on_cpu) float operator()(float v) const; };
/// (not in a class inside a function: such a class has no member templates)
#define LOCUS_OPERATION(text, where)                             \
  static constexpr auto name = text;                             \
  static constexpr ::locus::kernels_on kernels = ::locus::where; \
  LOCUS_SENTENCES(text)

}  // namespace locus
