// SPDX-License-Identifier: Apache-2.0
// regularized(layer, {.kernel = L2(1e-4)}): penalties of weights, added to the loss.
#pragma once
#include <locus/core/is_finite.hpp>       // is_finite
#include <locus/nn/layers/layer.hpp>      // state_of
#include <locus/nn/layers/parameter.hpp>  // parameter
#include <locus/ops/math.hpp>             // abs, sign, square
#include <locus/ops/reduce.hpp>           // sum
#include <locus/tensor/assign.hpp>        // into, run

LOCUS_COLD_BEGIN

namespace locus::nn {

/// means: l1 * sum(|w|) + l2 * sum(w * w) for the elements of a weight
struct penalty {
  double l1 = 0, l2 = 0;
  bool exists() const { return l1 != 0 || l2 != 0; }
};
/// after: keras.regularizers.L1, L2, L1L2
constexpr penalty L1(double l1 = 0.01) { return {l1, 0}; }
constexpr penalty L2(double l2 = 0.01) { return {0, l2}; }
constexpr penalty L1L2(double l1 = 0.01, double l2 = 0.01) { return {l1, l2}; }

/// The penalties of a layer with a kernel and a bias.
struct regularizers {
  penalty kernel{}, bias{};
};

namespace detail {
inline void require_penalty(penalty const& p) {
  for (double const v : {p.l1, p.l2})
    if (!locus::internal::is_finite(v) || v < 0)
      throw configuration_error(
          "locus: the factor of a regularizer is negative or no finite number; write L2(1e-4)");
}
}  // namespace detail

/// The state of a layer with penalties: their gradients come after those of the loss.
template <class State>
struct regularized_state : State {
  using kept = typename State::kept;
  static constexpr bool regularizes = true;
  regularizers penalties;

  template <class X, class Y>
  auto backward(X const& x, Y const& y, kept& k, Y dy, bool need_dx) {
    auto dx = State::backward(x, y, k, std::move(dy), need_dx);
    for_each_penalty([](auto& w, penalty const& p) {
      using T = typename std::remove_reference_t<decltype(w)>::element;
      run(into(w.gradient, w.gradient + (T(p.l1) * sign(w.value) + T(2 * p.l2) * w.value)));
    });
    return dx;
  }
  /// means: f(weight, penalty) for each weight that is trained and has one
  template <class F>
  void for_each_penalty(F const& f) {
    if (State::kernel.trainable && penalties.kernel.exists()) f(State::kernel, penalties.kernel);
    if (State::biased && State::bias.trainable && penalties.bias.exists())
      f(State::bias, penalties.bias);
  }
};

/// means: the layer; the loss of each batch, and of evaluate, grows by the penalties of its weights
/// cost:  for each weight with a penalty, a kernel that adds to its gradient, and one that folds it for the loss
/// fails: configuration_error for negative factors
/// after: kernel_regularizer and bias_regularizer of Keras: frozen weights have no penalty
template <class Layer>
struct Regularized : Layer {
  regularizers penalties;

  template <class State>
  static consteval bool require_weights() {
    constexpr bool has = requires(State& s) { s.kernel.trainable, s.bias.trainable, s.biased; };
    static_assert(has, "locus: a regularizer is given to a layer without a kernel and a bias; give "
                       "it to Dense or to a convolution");
    return has;
  }
  template <class T, class In, class Replicas>
  using state = regularized_state<state_of<Layer, T, In, Replicas>>;

  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t seed) const {
    if constexpr (require_weights<state_of<Layer, T, In, Replicas>>()) {
      detail::require_penalty(penalties.kernel), detail::require_penalty(penalties.bias);
      return state<T, In, Replicas>{Layer::template make<T, In, Replicas>(in, seed), penalties};
    }
  }
};
template <layer Layer>
constexpr Regularized<Layer> regularized(Layer l, regularizers const& penalties) {
  return {l, penalties};
}

}  // namespace locus::nn

LOCUS_COLD_END
