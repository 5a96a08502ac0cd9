// SPDX-License-Identifier: Apache-2.0
// Sums over rows whose bits do not depend on the number of replicas: rows are cut into V shards
// whatever the devices are, each shard is folded on its replica, and every replica adds the V terms
// in one order.
//     let(virtual_shards<4>(x), [&](auto xs) {                        // (4, rows / 4, columns)
//       auto const r = sum<2>(xs * per_shard<4>(w)) - virtual_shards<4>(y);
//       auto const loss = sum_of_shards(square(r)) / rows; ...
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>           // LOCUS_MODE
#include <locus/ops/map.hpp>               // checked_node
#include <locus/ops/operations.hpp>        // LOCUS_BUILTIN
#include <locus/ops/reduce.hpp>            // sum
#include <locus/ops/run_time_extents.hpp>  // shape_now
#include <locus/ops/views.hpp>             // reshape, expand_dims

namespace locus {

struct all_gather_fn {
  LOCUS_BUILTIN("all_gather")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(T v) const {
    return v;
  }
};
/// the second operand, the index of the shard, only gives the result its extent V
template <int V>
struct per_shard_fn {
  LOCUS_BUILTIN("per_shard")
  template <class T>
  LOCUS_HOST_DEVICE constexpr T operator()(T v, std::int64_t) const {
    return v;
  }
};

inline namespace LOCUS_MODE {

/// means: a sharded value as a whole, or the sum of a partial value, on every replica
/// cost:  a copy of each piece to each other replica
template <tensor_operand X>
constexpr auto all_gather(X&& e) {
  return internal::checked_node<all_gather_fn>(map_op<all_gather_fn>{},
                                               as_operand<void>(std::forward<X>(e)));
}

}  // namespace LOCUS_MODE

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_shards(std::int64_t rows, int shards) {
  message text;
  throw shape_error(
      text << "locus: " << rows << " rows are not " << shards
           << " shards of equal size; take a batch of a multiple, or drop its remainder");
}
template <class E, int V>
struct shard_pattern {
  static constexpr shape value = [] {
    shape s{E::pattern.rank + 1, {V, E::pattern.extent[0] == dyn ? dyn : E::pattern.extent[0] / V}};
    for (int a = 1; a < E::pattern.rank; ++a) s.extent[a + 1] = E::pattern.extent[a];
    return s;
  }();
};
template <int V, int Rank>
struct ones_behind {
  static constexpr shape value = [] {
    shape s{Rank, {V}};
    for (int a = 1; a < Rank; ++a) s.extent[a] = 1;
    return s;
  }();
};

}  // namespace detail

inline namespace LOCUS_MODE {

/// means: r[v, i, ...] = x[v n / V + i, ...]: the n rows of x as V shards of equal size
/// cost:  none: the same memory; no copy while the number of replicas divides V
/// fails: shape_error, when V does not divide n; at run time, when the number of replicas does not
///        divide V
template <int V, tensor_operand X>
constexpr auto virtual_shards(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  using E = decltype(operand);
  static_assert(V > 0 && E::pattern.rank > 0,
                "locus: virtual_shards cuts rows into one shard or more; give it a tensor that has "
                "rows, as in virtual_shards<4>(x)");
  shape const now = internal::shape_now(operand);
  if (now.extent[0] % V != 0) detail::refuse_shards(now.extent[0], V);
  shape to{now.rank + 1, {V, now.extent[0] / V}};
  for (int a = 1; a < now.rank; ++a) to.extent[a + 1] = now.extent[a];
  return reshape(std::move(operand), extents_of_shape_t<detail::shard_pattern<E, V>>(to));
}

/// means: r[v, 0, ...] = w[...]: w repeated for each of V shards. Its gradient adds the terms of
///        the shards in their order, on every replica
template <int V, tensor_operand W>
constexpr auto per_shard(W&& w) {
  auto wide = expand_dims<0>(expand_dims<0>(std::forward<W>(w)));
  using E = extents_of_shape_t<detail::ones_behind<V, decltype(wide)::pattern.rank>>;
  return make_node(map_op<per_shard_fn<V>>{}, std::move(wide), Index<E>{E{}});
}

/// means: the sum of all elements of a value with one row for each shard: first within each shard,
///        on its replica, then over the shards in their order
/// cost:  each shard sends one number to each replica
template <tensor_operand X>
constexpr auto sum_of_shards(X&& x) {
  auto operand = as_operand<void>(std::forward<X>(x));
  constexpr int rank = decltype(operand)::pattern.rank;
  static_assert(rank > 0, "locus: sum_of_shards adds a value that has one row for each shard; make "
                          "it from virtual_shards<4>(x)");
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    if constexpr (sizeof...(K) == 0)
      return sum(all_gather(std::move(operand)));
    else
      return sum(all_gather(sum<int(K + 1)...>(std::move(operand))));
  }(std::make_index_sequence<std::size_t(rank > 0 ? rank - 1 : 0)>{});
}

}  // namespace LOCUS_MODE

}  // namespace locus
