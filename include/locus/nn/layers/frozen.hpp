// SPDX-License-Identifier: Apache-2.0
// frozen(layer): a layer whose weights are not trained.
#pragma once
#include <locus/nn/layers/residual.hpp>  // Residual
#include <locus/nn/layers/shared.hpp>    // Shared

LOCUS_COLD_BEGIN

namespace locus::nn {

/// The state of a layer that is not trained. It passes dx on, by State::input_gradient where the layer has one:
/// the gradient of its input alone, which needs no gradient of its weights.
template <class State>
struct frozen_state : State {
  using kept = typename State::kept;
  /// a layer with moving statistics uses them, as in a prediction
  static constexpr bool predicts = requires { State::moves; };
  static constexpr bool reads_x = nn::reads_x<State>(), reads_y = nn::reads_y<State>() || predicts;

  template <class X>
  auto forward(X const& x, kept& k, pass p) {
    if constexpr (predicts) p.training = false;
    return State::forward(x, k, p);
  }
  template <class X, class Y>
  auto backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx) {
    using Dx = decltype(State::backward(x, y, k, std::move(dy), need_dx));
    if (!need_dx) return detail::no_batch<Dx>();
    if constexpr (requires { State::input_gradient(x, y, k, std::move(dy)); })
      return Dx(State::input_gradient(x, y, k, std::move(dy)));
    else
      return State::backward(x, y, k, std::move(dy), true);
  }
};

namespace detail {
/// a layer of layers
template <class Layer>
inline constexpr bool holds_layers = false;
template <class... Layers>
inline constexpr bool holds_layers<Residual<Layers...>> = true;
template <class Inner, class Branch>
inline constexpr bool holds_layers<Projected<Inner, Branch>> = true;
template <class Layer>
inline constexpr bool holds_layers<Shared<Layer>> = true;
}  // namespace detail

/// means: the layer with weights that no optimizer changes; a BatchNorm uses its moving statistics, and does
///        not change them
/// cost:  in a step, neither a kernel nor an all-reduce for gradients of its weights, and no slots of the
///        optimizer; if no layer in front of it learns, no backward pass. A convolution and the pool behind
///        it are two kernels. Convolutions over one axis, DepthwiseConv2D and layers of a program's own
///        without input_gradient compute gradients that nobody reads, where a layer in front of them learns
/// after: layer.trainable = False of Keras
template <class Layer>
struct Frozen : Layer {
  static_assert(!detail::holds_layers<Layer>,
                "locus: a layer that holds others is frozen from inside; write "
                "nn::Residual{nn::frozen(l), ...}, or nn::shared(nn::frozen(l))");
  template <class T, class In, class Replicas>
  using state = frozen_state<state_of<Layer, T, In, Replicas>>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    using parameters = parameter<T, Replicas>;
    state<T, In, Replicas> s{Layer::template make<T, In, Replicas>(in, seed)};
    s.for_each_parameter([](parameters& p) { p.trainable = false; });
    return s;
  }
};

/// means: a layer, or all layers of a Sequential, whose weights are not trained
template <layer Layer>
  requires(!detail::is_input<Layer>)
constexpr Frozen<Layer> frozen(Layer l) {
  return {l};
}
/// means: the input of a model, which has no weights
template <class Layer>
  requires(detail::is_input<Layer>)
constexpr Layer frozen(Layer l) {
  return l;
}
template <class... Layers>
constexpr auto frozen(Sequential<Layers...> const& s) {
  auto const all = s.each_layer([](auto const& l) { return frozen(l); });
  return all.named(s.name).seeded(s.seed);
}

}  // namespace locus::nn

LOCUS_COLD_END
