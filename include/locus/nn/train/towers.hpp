// SPDX-License-Identifier: Apache-2.0
// Towers that a program places itself, whose gradients are averaged on the CPU, and the moving
// average of weights: the multi-GPU training of TensorFlow's CIFAR-10 tutorial.
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

/// means: the mean of tower(k) over the devices, tower k on device k, averaged on the CPU: a single
///        expression, which a plan computes at the same time
/// tower: takes std::integral_constant<int, k> and gives an expression, as the gradient of its rows
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

/// means: for each weight an average that follows it: a = d a + (1 - d) w, beginning with the weight.
///        With warm_up d is at most (1 + n) / (10 + n) in update n, so that early weights are forgotten
/// device: where the weights are; each replica updates its copy
/// cost:  a kernel for each weight; no traffic
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
  /// means: the weights are the averages, and the other way round: to evaluate with them, and again
  ///        to train on          cost: O(1)
  void swap(std::vector<parameter<T, Replicas>*> const& weights) {
    for (std::size_t k = 0; k < averages_.size(); ++k) std::swap(weights[k]->value, averages_[k]);
  }

 private:
  double decay_;
  bool warm_up_;
  std::int64_t updates_ = 0;
  std::vector<tensor> averages_;
};

/// means: a callback that updates an average after each step of a trainer, whose weights are the
///        averages when the training has ended
template <class Trainer>
class AverageWeights : public callback {
 public:
  explicit AverageWeights(Trainer& t, double decay = 0.999, bool warm_up = true)
      : trainer_(t), average_(decay, warm_up) {}
  void on_batch_end(training&, std::int64_t, logs const&) override {
    average_.update(trainer_.network().parameters());
  }
  void on_train_end(training&, logs const&) override {
    average_.swap(trainer_.network().parameters());
  }

 private:
  Trainer& trainer_;
  AverageOfWeights<typename Trainer::network_type::value_type,
                   typename Trainer::network_type::replicas>
      average_;
};

}  // namespace locus::nn
