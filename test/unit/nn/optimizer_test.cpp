// SPDX-License-Identifier: Apache-2.0
// Optimizers against Keras' formulas, worked out in long double, over 50 steps of random gradients.
#define LOCUS_CUDA_KERNELS 1
#include <doctest/doctest.h>

#include <locus/testing/recorder.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/nn/updater.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "oracle.hpp"

using namespace locus;

namespace {

using real = long double;

/// One weight as Keras treats it: its slots, and a step with learning rate lr as step t (from 1).
struct keras_weight {
  real w = 0, slot[3] = {0, 0, 0};
};

struct keras_sgd {
  real momentum = 0;
  bool nesterov = false;
  void step(keras_weight& k, real g, real lr, int) const {
    if (momentum == 0) {
      k.w -= lr * g;
      return;
    }
    k.slot[0] = momentum * k.slot[0] - lr * g;
    k.w += nesterov ? momentum * k.slot[0] - lr * g : k.slot[0];
  }
};
struct keras_adam {
  real b1 = .9L, b2 = .999L, eps = 1e-7L;
  void step(keras_weight& k, real g, real lr, int t) const {
    real const alpha = lr * std::sqrt(1 - std::pow(b2, real(t))) / (1 - std::pow(b1, real(t)));
    k.slot[0] += (g - k.slot[0]) * (1 - b1);
    k.slot[1] += (g * g - k.slot[1]) * (1 - b2);
    k.w -= k.slot[0] * alpha / (std::sqrt(k.slot[1]) + eps);
  }
};
struct keras_nadam {
  real schedule_decay = .004L, b1 = .9L, b2 = .999L, eps = 1e-7L;
  real u(int t) const { return b1 * (1 - .5L * std::pow(.96L, schedule_decay * real(t))); }
  void step(keras_weight& k, real g, real lr, int t) const {
    real product = 1;
    for (int i = 1; i <= t; ++i) product *= u(i);
    k.slot[0] += (g - k.slot[0]) * (1 - b1);
    k.slot[1] += (g * g - k.slot[1]) * (1 - b2);
    real const m_hat =
        u(t + 1) * k.slot[0] / (1 - product * u(t + 1)) + (1 - u(t)) * g / (1 - product);
    real const v_hat = k.slot[1] / (1 - std::pow(b2, real(t)));
    k.w -= m_hat * lr / (std::sqrt(v_hat) + eps);
  }
};
struct keras_rmsprop {
  real rho = .9L, momentum = 0, eps = 1e-7L;
  bool centered = false;
  void step(keras_weight& k, real g, real lr, int) const {
    k.slot[0] = rho * k.slot[0] + (1 - rho) * g * g;
    real denominator = k.slot[0] + eps;
    if (centered) {
      k.slot[2] = rho * k.slot[2] + (1 - rho) * g;
      denominator -= k.slot[2] * k.slot[2];
    }
    real const increment = lr * g / std::sqrt(denominator);
    k.slot[1] = momentum * k.slot[1] + increment;
    k.w -= momentum > 0 ? k.slot[1] : increment;
  }
};

template <class T, class Replicas>
struct model {
  std::vector<nn::parameter<T, Replicas>> parameters;
  template <class F>
  void for_each_parameter(F&& f) {
    for (auto& p : parameters) f(p);
  }
};
template <class T, class Replicas>
nn::parameter<T, Replicas> parameter_of(std::vector<T> const& values, shape const& extents) {
  auto p = nn::make_parameter<T, Replicas>("kernel", extents, nn::zeros, 1);
  locus::detail::fill_storage(*p.value.block.get(), values.data());
  return p;
}
template <class T, class E, class Where>
std::vector<T> read(Tensor<T, E, Where> const& t) {
  auto const host = to<CpuDevice>(t);
  return std::vector<T>(host.data(), host.data() + host.size());
}

struct options {
  int steps = 50;
  double weight_decay = 0, clipvalue = 0;
  double (*rate)(int) = [](int) { return 0.01; };
  bool sparse = false;
};

/// two parameters, a table of rows of 7 and a bias of 5
template <class T, class Replicas, class Optimizer, class Keras>
void compare(Optimizer const& optimizer, Keras const& keras, options const& o) {
  std::int64_t const rows = 41, width = 7, bias = 5;
  oracle::random r(11);
  model<T, Replicas> m;
  std::vector<keras_weight> want[2];
  for (std::int64_t n : {rows * width, bias}) {
    std::vector<T> begin(std::size_t(n), T(0));
    auto& k = want[m.parameters.size()];
    for (T& w : begin) w = r.value<T>(-1, 1), k.push_back({real(w), {0, 0, 0}});
    m.parameters.push_back(
        parameter_of<T, Replicas>(begin, n == bias ? shape{1, {bias}} : shape{2, {rows, width}}));
  }
  nn::updater<Optimizer, T, Replicas> updater(optimizer);
  for (int t = 1; t <= o.steps; ++t) {
    for (std::size_t k = 0; k < 2; ++k) {
      auto& p = m.parameters[k];
      std::vector<T> g(want[k].size(), T(0));
      std::vector<std::int32_t> touched;
      std::vector<T> values;
      for (std::size_t i = 0; i < g.size(); ++i) {
        if (k == 0 && o.sparse && i % std::size_t(width) == 0 && r.number(0, 3) != 0) {
          i += std::size_t(width) - 1;
          continue;
        }
        if (k == 0 && i % std::size_t(width) == 0)
          touched.push_back(std::int32_t(i / std::size_t(width)));
        g[i] = r.value<T>(-2, 2), values.push_back(g[i]);
      }
      if (k == 0 && o.sparse) {
        p.sparse = true;
        auto const n = std::int64_t(touched.size());
        p.rows = Tensor<std::int32_t, Dextents<1>, Replicas>(Dextents<1>(n));
        p.row_values = Tensor<T, Dextents<2>, Replicas>(Dextents<2>(n, width));
        if (n > 0) {
          locus::detail::fill_storage(*p.rows.block.get(), touched.data());
          locus::detail::fill_storage(*p.row_values.block.get(), values.data());
        }
      } else
        locus::detail::fill_storage(*p.gradient.block.get(), g.data());
      for (std::size_t i = 0; i < g.size(); ++i) {
        real d = real(g[i]);
        if (o.clipvalue > 0) d = std::fmin(std::fmax(d, -real(o.clipvalue)), real(o.clipvalue));
        real const lr = real(o.rate(t - 1));
        want[k][i].w -= want[k][i].w * real(o.weight_decay) * lr;
        keras.step(want[k][i], d, lr, t);
      }
    }
    updater.step(m);
  }
  CHECK(updater.iterations() == o.steps);
  real worst = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    auto const is = read(m.parameters[k].value);
    for (std::size_t i = 0; i < is.size(); ++i)
      worst = std::fmax(worst, std::fabs(real(is[i]) - want[k][i].w));
  }
  CHECK(worst <= (sizeof(T) == 8 ? 1e-13L : 2e-5L));
}

using one = Mirrored<CpuDevice>;
using two = Mirrored<GpuDevice<0>, GpuDevice<1>>;

}  // namespace

TEST_CASE("every optimizer is Keras' over 50 steps") {
  compare<double, one>(nn::SGD{}, keras_sgd{}, {});
  compare<double, one>(nn::SGD{.momentum = 0.9}, keras_sgd{.9L}, {});
  compare<double, one>(nn::SGD{.momentum = 0.9, .nesterov = true}, keras_sgd{.9L, true}, {});
  compare<double, one>(nn::Nadam{.learning_rate = 0.01}, keras_nadam{}, {});
}
