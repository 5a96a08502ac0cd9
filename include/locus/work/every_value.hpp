// SPDX-License-Identifier: Apache-2.0
// Whether a kernel may call its tree with values that are no elements, as in lanes beside the last one.
#pragma once
#include <locus/work/stage.hpp>  // stage, apply, rounded

namespace locus::kernel {

/// means: no functor of the program is in the tree: each ends, and reads no memory, for every value
template <class Tree>
inline constexpr bool takes_every_value = true;
template <class T, class F, class... Args>
inline constexpr bool takes_every_value<apply<T, F, Args...>> =
    requires { F::op; } && (takes_every_value<Args> && ...);
template <class T, class Tree>
inline constexpr bool takes_every_value<rounded<T, Tree>> = takes_every_value<Tree>;
template <class... Slots, class... Outs>
inline constexpr bool takes_every_value<stage<type_list<Slots...>, type_list<Outs...>>> =
    (takes_every_value<Slots> && ...) && (takes_every_value<Outs> && ...);

}  // namespace locus::kernel
