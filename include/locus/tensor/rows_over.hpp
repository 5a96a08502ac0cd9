// SPDX-License-Identifier: Apache-2.0
// Batches over replicas: the policy of their rows, and the size of the whole batch.
#pragma once
#include <locus/tensor/eval.hpp>  // to

namespace locus {

namespace detail {
/// the policy that shards axis 0 over the devices of a mirrored policy, or over one device
template <class Replicas>
struct sharded_rows {
  static_assert(always_false<Replicas>,
                "locus: batches are distributed over replicas or over one device; write "
                "distribute<Mirrored<...>>(batches)");
};
template <class... Devices>
struct sharded_rows<Mirrored<Devices...>> {
  using type = Sharded<0, Devices...>;
};
template <single_device Device>
struct sharded_rows<Device> {
  using type = Sharded<0, Device>;
};
}  // namespace detail

/// means: the policy of a batch whose rows are sharded over the replicas
template <device_policy Replicas>
using rows_over = typename detail::sharded_rows<Replicas>::type;

/// means: the rows of the whole batch, over all replicas, as a number for expressions
template <tensor_operand X>
double global_batch(X const& x) {
  static_assert(
      expression_of_t<X const&>::pattern.rank > 0,
      "locus: a batch has at least one axis, its rows; give each tensor of a batch rank 1 "
      "or more");
  return static_cast<double>(x.extent(0));
}

}  // namespace locus
