// SPDX-License-Identifier: Apache-2.0
// Bases of layers with a kernel, a bias and an activation: `weighted` of their descriptions,
// `weights` of their states.
#pragma once
#include <locus/nn/layers/activation.hpp>  // activation
#include <locus/nn/layers/layer.hpp>       // kept_end, with
#include <locus/nn/layers/parameter.hpp>   // parameter, make_parameter, glorot_uniform

namespace locus::nn {

/// The state of a layer with weights. In a layer without bias, `bias` is zeros and no parameter of
/// the model.
template <class T, class Replicas>
struct weights {
  using kept = kept_end;

  parameter<T, Replicas> kernel, bias;
  activation how;
  bool biased;

  activation ends_in() const { return how; }
  template <class F>
  void for_each_parameter(F&& f) {
    f(kernel);
    if (biased) f(bias);
  }
};

/// means: the activation of a layer with weights, whether it has a bias, and the initial values of
///        kernel and bias
/// after: Keras: kernel, bias; glorot_uniform, zeros
template <class Derived>
struct weighted {
  activation how = activation::linear;
  bool bias = true;
  initial kernel_begins = glorot_uniform, bias_begins = zeros;

  constexpr weighted() = default;
  constexpr weighted(activation act) : how(act) {}
  constexpr Derived without_bias() const {
    return detail::with(static_cast<Derived const&>(*this), &weighted::bias, false);
  }
  constexpr Derived begin_with(initial kernel, initial bias_value = zeros) const {
    Derived const d =
        detail::with(static_cast<Derived const&>(*this), &weighted::kernel_begins, kernel);
    return detail::with(d, &weighted::bias_begins, bias_value);
  }

 protected:
  /// shape: kernel as given, bias (units)
  template <class T, class Replicas>
  weights<T, Replicas> make_weights(shape const& kernel_extents, std::int64_t units,
                                    std::uint64_t seed) const {
    return {make_parameter<T, Replicas>("kernel", kernel_extents, kernel_begins, seed),
            make_parameter<T, Replicas>("bias", {1, {units}}, bias_begins, derived_seed(seed, 1)),
            how, bias};
  }
};

}  // namespace locus::nn
