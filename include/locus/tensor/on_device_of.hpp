// SPDX-License-Identifier: Apache-2.0
// on_device_of(x)(e): the steps of e run where the value x is.
#pragma once
#include <locus/device/policy.hpp>  // policy_of_t
#include <locus/ops/on.hpp>         // on
#include <locus/tensor/eval.hpp>    // evaluate's places

namespace locus {

namespace detail {

/// the policy of the value of X: a tensor's own, that of an expression by its plan
template <class Policy, class X>
struct place_of_value {
  using graph_type = graph<Policy, root_of<X, nowhere>>;
  using type = policy_of_t<lowering::result_place<graph_type>>;
};
template <class Policy, tensor X>
struct place_of_value<Policy, X> {
  using type = typename X::policy;
};

}  // namespace detail

/// means: on_device_of(x)(e) is e with a request to run on one device
template <single_device Device>
struct beside {
  template <tensor_operand X>
  constexpr auto operator()(X&& e) const {
    return on<Device>(std::forward<X>(e));
  }
};
template <open_device Device>
struct beside_open {
  bound_device<Device> at;
  template <tensor_operand X>
  constexpr auto operator()(X&& e) const {
    return on<Device>(std::forward<X>(e), at);
  }
};

/// means: a function that gives expressions a request for the device of x: of a tensor, where it lies; of an
///        expression, where its plan computes its value
/// device: known at compile time; of a tensor on GpuDevice<dyn> or Cpu<dyn>, its device of now
/// cost:  nothing runs, x neither
/// fails: at compile time, for a value over several devices, and for an expression on an open device
/// after: tf.colocate_with
template <placement_policy Policy = default_policy, tensor_operand X>
constexpr auto on_device_of([[maybe_unused]] X const& x) {
  using Place = typename detail::place_of_value<Policy, X>::type;
  constexpr bool one = Place::value.is_single();
  static_assert(one, "locus: a value over several devices is beside none of them; write "
                     "to<Mirrored<...>>(e), or on<GpuDevice<0>>(e)");
  if constexpr (one && open_device<Place>) {
    constexpr bool lies = tensor<X>;
    static_assert(
        lies, "locus: only a run knows where an expression over open devices is computed; write "
              "on_device_of(tensor)(e), or on<GpuDevice<dyn>>(e, 2)");
    if constexpr (lies) return beside_open<Place>{bound_device<Place>(x.device())};
  } else if constexpr (one)
    return beside<Place>{};
}

}  // namespace locus
