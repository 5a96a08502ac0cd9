// SPDX-License-Identifier: Apache-2.0
// Batches over replicas: distribute<Replicas>(batches) and global_batch(x).
#pragma once
#include <tuple>  // apply

#include <locus/tensor/eval.hpp>  // to

namespace locus {

namespace detail {
/// the policy that cuts axis 0 over the devices of a mirrored policy, or over one device
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

/// means: the policy of a batch whose rows are cut over the replicas
template <device_policy Replicas>
using rows_over = typename detail::sharded_rows<Replicas>::type;

/// means: rows of the whole batch, over all replicas: a number that an expression captures
template <tensor_operand X>
double global_batch(X const& x) {
  static_assert(
      expression_of_t<X const&>::pattern.rank > 0,
      "locus: a batch has at least one axis, its rows; give each tensor of a batch rank 1 "
      "or more");
  return static_cast<double>(x.extent(0));
}

/// means: each batch of a range, its tensors cut along their rows over the replicas:
///            for (auto [x, label] : distribute<Replicas>(batches))
/// cost:  one copy to each replica for each tensor of a batch
/// after: TensorFlow's experimental_distribute_dataset, with its cut of ceil(n / R) rows
template <device_policy Replicas, class Batches>
class Distributed {
 public:
  explicit Distributed(Batches& batches) : batches_(batches) {}

  template <class Inner>
  class iterator {
   public:
    explicit iterator(Inner at) : at_(at) {}
    auto operator*() const {
      return std::apply(
          [](auto const&... t) { return std::make_tuple(to<rows_over<Replicas>>(t)...); }, *at_);
    }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(iterator const& o) const { return at_ != o.at_; }

   private:
    Inner at_;
  };
  auto begin() const { return iterator<decltype(batches_.begin())>(batches_.begin()); }
  auto end() const { return iterator<decltype(batches_.end())>(batches_.end()); }

 private:
  Batches& batches_;
};

/// means: Distributed<Replicas> over batches, which must outlive it
template <device_policy Replicas, class Batches>
auto distribute(Batches& batches) {
  return Distributed<Replicas, Batches>(batches);
}
template <device_policy Replicas, class Batches>
  requires(!std::is_lvalue_reference_v<Batches>)
auto distribute(Batches&&) {
  static_assert(always_false<Batches>,
                "locus: distribute looks at batches that live on; give them a name first");
}

}  // namespace locus
