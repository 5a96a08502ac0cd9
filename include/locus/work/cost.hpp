// SPDX-License-Identifier: Apache-2.0
// The cost of a kernel's tree, as a constant: number of operations, widest element type.
#pragma once
#include <type_traits>  // is_same

#include <locus/ops/elementwise.hpp>  // LOCUS_ELEMENTWISE
#include <locus/ops/functors.hpp>     // divide_fn, sqrt_fn
#include <locus/work/stage.hpp>       // stage, apply, constant

namespace locus {
template <class T>
struct full_fn;
}

namespace locus::kernel {

/// means: cost of F for one element in code with vectors     units: additions
template <class F>
inline constexpr float cost_of_functor = [] {
  if constexpr (requires { F::op; })
    return F::op.heavy ? 16.f : 1.f;
  else
    return 4.f;  // a functor of the program
}();
#define LOCUS_COST(operands, name, tensorflow, law, elements, cost, ...) \
  template <>                                                            \
  inline constexpr float cost_of_functor<name##_fn> = cost;
LOCUS_ELEMENTWISE(LOCUS_COST)
#undef LOCUS_COST

/// means: cost of a tree or a stage for one element     units: additions
template <class Tree>
inline constexpr float cost_of = 0;
template <class T, class F, class... Args>
inline constexpr float cost_of<apply<T, F, Args...>> = (cost_of_functor<F> + ... + cost_of<Args>);
template <class T, class Tree>
inline constexpr float cost_of<rounded<T, Tree>> = cost_of<Tree> + 1;
template <class... Slots, class... Outs>
inline constexpr float cost_of<stage<type_list<Slots...>, type_list<Outs...>>> =
    (0.f + ... + cost_of<Slots>)+(0.f + ... + cost_of<Outs>);

constexpr int widest(int a, int b) { return a > b ? a : b; }
/// means: size of the widest value that a tree or a stage computes     units: bytes
template <class Tree>
inline constexpr int widest_of = int(sizeof(typename Tree::type));
template <class T, class F, class... Args>
inline constexpr int widest_of<apply<T, F, Args...>> = [] {
  int w = int(sizeof(T));
  ((w = widest(w, widest_of<Args>)), ...);
  return w;
}();
template <class T, class Tree>
inline constexpr int widest_of<rounded<T, Tree>> = widest_of<Tree>;
template <class T, class V, class Index>  // the type of the index does not count
inline constexpr int widest_of<apply<T, full_fn<V>, Index>> = int(sizeof(T));
template <class... Slots, class... Outs>
inline constexpr int widest_of<stage<type_list<Slots...>, type_list<Outs...>>> = [] {
  int w = 1;
  ((w = widest(w, widest_of<Slots>)), ...);
  ((w = widest(w, widest_of<Outs>)), ...);
  return w;
}();

/// means: the tree has the same value at every element
template <class Tree>
inline constexpr bool is_constant = false;
template <class T>
inline constexpr bool is_constant<constant<T>> = true;
template <class T, class V, class Index>
inline constexpr bool is_constant<apply<T, full_fn<V>, Index>> = true;
template <class T, class F, class... Args>
  requires requires { F::op; }  // a functor of the program may count its calls
inline constexpr bool is_constant<apply<T, F, Args...>> = sizeof...(Args) > 0 &&
                                                          (is_constant<Args> && ...);
template <class T, class Tree>
inline constexpr bool is_constant<rounded<T, Tree>> = is_constant<Tree>;
template <class Out>
inline constexpr bool is_constant<stage<type_list<>, type_list<Out>>> = is_constant<Out>;

}  // namespace locus::kernel
