// SPDX-License-Identifier: Apache-2.0
// Towers that a program places itself, with gradients averaged on the CPU, and moving averages of
// weights: the multi-GPU training of TensorFlow's CIFAR-10 tutorial.
#pragma once
#include <utility>  // integer_sequence
#include <vector>   // vector

#include <locus/nn/layers/parameter.hpp>  // parameter
#include <locus/nn/train/callback.hpp>    // callback
#include <locus/ops/arithmetic.hpp>       // operators
#include <locus/ops/math.hpp>             // add_n
#include <locus/ops/on.hpp>               // on
#include <locus/tensor/eval.hpp>          // Tensor

namespace locus::nn {

/// means: the mean of tower(k), with tower k on device k, averaged on the CPU: one expression, so
///        that one plan runs the towers in parallel
/// tower: takes std::integral_constant<int, k> and returns an expression, such as the gradient of
/// its rows
/// after: average_gradients
template <single_device... Devices, class Tower>
auto tower_mean(Tower&& tower) {
  static_assert(sizeof...(Devices) > 0,
                "locus: a mean over no towers; write tower_mean<GpuDevice<0>, GpuDevice<1>>(f)");
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return on<CpuDevice>(add_n(on<Devices>(tower(std::integral_constant<int, K>{}))...) *
                         (1.0 / sizeof...(Devices)));
  }(std::make_integer_sequence<int, int(sizeof...(Devices))>{});
}

/// means: a moving average of each weight: a = d a + (1 - d) w, starting with the weight. With
///        warm_up, d is at most (1 + n) / (10 + n) in update n, so that early weights fade fast
/// device: that of the weights; each replica updates its copy
/// cost:  one kernel for each weight; no transfer
/// after: tf.train.ExponentialMovingAverage
template <class T, class Replicas>
class AverageOfWeights {
 public:
  using tensor = Tensor<T, Dextents<1>, Replicas>;
  explicit AverageOfWeights(double decay, bool warm_up = false) : decay_(decay), warm_up_(warm_up) {
    if (decay >= 0 && decay <= 1) return;
    throw configuration_error("locus: the decay of a moving average is a number from 0 to 1");
  }
  /// weights: pointers to parameters, in the same order in each call
  void update(std::vector<parameter<T, Replicas>*> const& weights) {
    auto const n = static_cast<double>(updates_++);
    double const d = warm_up_ && (1 + n) / (10 + n) < decay_ ? (1 + n) / (10 + n) : decay_;
    bool const fresh = averages_.empty();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      tensor const& w = weights[k]->value;
      if (fresh)
        averages_.push_back(w);
      else
        averages_[k] = averages_[k] + static_cast<T>(1 - d) * (w - averages_[k]);
    }
  }
  std::int64_t updates() const { return updates_; }
  tensor const& operator[](std::size_t k) const { return averages_[k]; }
  /// means: swaps the weights and the averages: once to evaluate with the averages, again to train
  ///        on     cost: O(1)
  void swap(std::vector<parameter<T, Replicas>*> const& weights) {
    for (std::size_t k = 0; k < averages_.size(); ++k) std::swap(weights[k]->value, averages_[k]);
  }
  /// means: weights = averages, which stay     cost: a copy of each weight
  void take(std::vector<parameter<T, Replicas>*> const& weights) const {
    for (std::size_t k = 0; k < averages_.size(); ++k) weights[k]->value = averages_[k];
  }

 private:
  double decay_;
  bool warm_up_;
  std::int64_t updates_ = 0;
  std::vector<tensor> averages_;
};

/// means: a callback that updates the average after each step of a trainer; at the end of the
///        training, the averages become the weights, from which another training goes on
template <class Trainer>
class AverageWeights : public callback {
 public:
  explicit AverageWeights(Trainer& t, double decay = 0.999, bool warm_up = true)
      : trainer_(t), average_(decay, warm_up) {}
  void on_batch_end(training&, std::int64_t, logs const&) override {
    average_.update(trainer_.network().parameters());
  }
  void on_train_ending(training&) override { average_.take(trainer_.network().parameters()); }

 private:
  Trainer& trainer_;
  AverageOfWeights<typename Trainer::network_type::value_type,
                   typename Trainer::network_type::replicas>
      average_;
};

}  // namespace locus::nn
