// SPDX-License-Identifier: Apache-2.0
// Several expressions as one result: auto [g1, g2] = grad(loss, w1, w2).
#pragma once
#include <utility>  // tuple_size

#include <locus/core/pack.hpp>       // pack
#include <locus/core/type_list.hpp>  // at_t

namespace locus {

/// means: expressions by index: get<0>(g), or structured bindings
template <class... Es>
struct gradients : pack<Es...> {};

}  // namespace locus

template <class... Es>
struct std::tuple_size<locus::gradients<Es...>>
    : std::integral_constant<std::size_t, sizeof...(Es)> {};
template <std::size_t K, class... Es>
struct std::tuple_element<K, locus::gradients<Es...>> {
  using type = locus::at_t<int(K), locus::type_list<Es...>> const;
};
