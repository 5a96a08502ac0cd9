// SPDX-License-Identifier: Apache-2.0
// Frozen layers: weights that stay, gradients that pass through, and work that is not done.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/layers/frozen.hpp>
#include <locus/nn/nn.hpp>
#include <locus/testing/count.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "distance.hpp"

namespace frozen_test {

using namespace locus;

namespace {

using Gpus = Mirrored<GpuDevice<0>, GpuDevice<1>>;

template <class... N>
auto random_tensor(std::uint64_t from, N... n) {
  using E = Dextents<int(sizeof...(N))>;
  return Tensor<double, E>(uniform<double>(E(n...), seed{from}, -1, 1));
}
template <class Where = CpuDevice, class Model, class Optimizer = nn::SGD>
auto trainer_of(Model const& m, Optimizer o = {.learning_rate = 0.1}) {
  return nn::compile<Where, double>(m, o, nn::MeanSquaredError{});
}

/// a step of a model whose middle is frozen, and of the same model without that: the layer in front gets the
/// same gradient, the frozen one stays
template <class Whole, class Part, class X>
void same_in_front(Whole const& whole, Part const& part, X const& x, std::string const& frozen) {
  auto a = trainer_of(whole);
  auto b = trainer_of(part);
  auto const y = random_tensor(9, x.extent(0), 2);
  reals const before = values_of(b.weights(frozen));
  static_cast<void>(a.train_on_batch(x, y));
  static_cast<void>(b.train_on_batch(x, y));
  INFO(frozen);
  CHECK(distance(values_of(a.weights()[0]), values_of(b.weights()[0])) <= 1e-14);
  CHECK(distance(values_of(a.weights()[1]), values_of(b.weights()[1])) <= 1e-14);
  CHECK(values_of(b.weights(frozen)) == before);
  CHECK(values_of(a.weights(frozen)) != before);
}

}  // namespace

TEST_CASE("the layers behind frozen ones learn as from features that were computed before") {
  testing::simulated_gpus const two{2, {.seed = 2}};
  auto const x = random_tensor(1, 12, 6), y = random_tensor(2, 12, 2);
  nn::Adam const adam{.learning_rate = 0.05};
  auto const base = nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::tanh}, nn::BatchNorm{}};
  auto features = trainer_of(base);
  auto const on = [&]<class Where>(Where) {
    auto whole =
        trainer_of<Where>(nn::Sequential{nn::Input<6>{}, nn::frozen(nn::Dense<8>{nn::tanh}),
                                         nn::frozen(nn::BatchNorm{}), nn::Dense<2>{}},
                          adam);
    auto head = trainer_of(nn::Sequential{nn::Input<8>{}, nn::Dense<2>{}}, adam);
    for (int k = 0; k < 2; ++k) {
      nn::write_values(features.weights()[std::size_t(k)],
                       values_of(whole.weights()[std::size_t(k)]).data());
      nn::write_values(head.weights()[std::size_t(k)],
                       values_of(whole.weights()[std::size_t(k) + 6]).data());
    }
    CHECK(whole.optimizer_state().size() == 4);  // momentum and velocity of kernel and bias
    std::vector<reals> before;
    for (nn::stored const& s : whole.weights()) before.push_back(values_of(s));
    auto const f = features.predict(x);
    for (int k = 0; k < 5; ++k) {
      double const a = whole.train_on_batch(x, y)["loss"], b = head.train_on_batch(f, y)["loss"];
      CHECK(std::fabs(a - b) <= 1e-12);
    }
    auto const after = whole.weights();
    for (std::size_t k = 0; k < 6; ++k)
      CHECK(values_of(after[k]) == before[k]);  // moving ones, too
    CHECK(distance(values_of(after[6]), values_of(head.weights()[0])) <= 1e-12);
    CHECK(distance(values_of(after[7]), values_of(head.weights()[1])) <= 1e-12);
    CHECK(after[0].trainable == false);
    CHECK(after[6].trainable == true);
  };
  on(CpuDevice{});
  on(Gpus{});
}

TEST_CASE("a gradient passes through frozen layers") {
  auto const x = random_tensor(3, 7, 6);
  same_in_front(
      nn::Sequential{nn::Input<6>{}, nn::Dense<5>{}, nn::Dense<4>{nn::tanh}, nn::Dense<2>{}},
      nn::Sequential{nn::Input<6>{}, nn::Dense<5>{}, nn::frozen(nn::Dense<4>{nn::tanh}),
                     nn::Dense<2>{}},
      x, "dense_1/kernel");
  same_in_front(
      nn::Sequential{nn::Input<6>{}, nn::Dense<5>{}, nn::LayerNorm{}, nn::Dense<2>{}},
      nn::Sequential{nn::Input<6>{}, nn::Dense<5>{}, nn::frozen(nn::LayerNorm{}), nn::Dense<2>{}},
      x, "gamma");
  auto const images = random_tensor(4, 3, 5, 5, 2);
  nn::Conv2D<3, 3> const one{nn::relu};
  nn::Conv2D<4, 3> const other{nn::tanh};
  same_in_front(
      nn::Sequential{nn::Input<5, 5, 2>{}, one, other, nn::Flatten{}, nn::Dense<2>{}},
      nn::Sequential{nn::Input<5, 5, 2>{}, one, nn::frozen(other), nn::Flatten{}, nn::Dense<2>{}},
      images, "conv2d_1/kernel");
  auto const lines = random_tensor(5, 3, 12, 2);
  nn::Conv1D<3, 3> const along{nn::relu};
  same_in_front(
      nn::Sequential{nn::Input<12, 2>{}, along, along, nn::Flatten{}, nn::Dense<2>{}},
      nn::Sequential{nn::Input<12, 2>{}, along, nn::frozen(along), nn::Flatten{}, nn::Dense<2>{}},
      lines, "conv1d_1/kernel");
}

TEST_CASE("a gradient passes through a frozen BatchNorm as through constants") {
  auto const x = random_tensor(6, 9, 3), y = random_tensor(7, 9, 4);
  auto t = trainer_of(nn::Sequential{nn::Input<3>{}, nn::Dense<4>{}, nn::frozen(nn::BatchNorm{})});
  for (auto const& [name, low] : {std::pair{"moving_mean", -0.5}, std::pair{"moving_variance", 0.5},
                                  std::pair{"gamma", 1.5}, std::pair{"beta", -0.25}}) {
    reals v = values_of(t.weights(name));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = low + 0.1 * double(i);
    nn::write_values(t.weights(name), v.data());
  }
  auto const vector = [&](char const* name) {
    Tensor<double, Extents<4>> v;
    nn::read_values(t.weights(name), v.data());
    return v;
  };
  Tensor<double, Extents<3, 4>> kernel;
  nn::read_values(t.weights("kernel"), kernel.data());
  auto const mean_ = vector("moving_mean"), variance = vector("moving_variance"),
             gamma = vector("gamma"), beta = vector("beta");
  auto const w = named<"w">(kernel);
  Tensor<double, Extents<4>> const factor(gamma * rsqrt(variance + 1e-3));
  Tensor<double, Extents<3, 4>> const next(
      kernel - 0.1 * grad(mean(square((matmul(x, w) - mean_) * factor + beta - y)), w));
  static_cast<void>(t.train_on_batch(x, y));
  reals const is = values_of(t.weights("kernel"));
  CHECK(distance(is, reals(next.data(), next.data() + next.size())) <= 1e-14);
}

TEST_CASE("frozen layers take work out of a step") {
  testing::simulated_gpus const two{2};
  auto const x = random_tensor(3, 8, 6), y = random_tensor(2, 8, 2);
  auto const all = nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::tanh}, nn::Dense<8>{nn::tanh}};
  auto whole = trainer_of<Gpus>(nn::Sequential{all, nn::Dense<2>{}});
  auto part = trainer_of<Gpus>(nn::Sequential{nn::frozen(all), nn::Dense<2>{}});
  static_cast<void>(whole.train_on_batch(x, y));
  static_cast<void>(part.train_on_batch(x, y));
  auto const of_whole = testing::count([&] { static_cast<void>(whole.train_on_batch(x, y)); });
  auto const of_part = testing::count([&] { static_cast<void>(part.train_on_batch(x, y)); });
  CHECK(of_whole.all_reduces - of_part.all_reduces == 2);  // a bucket for each layer
  CHECK(of_part.launches < of_whole.launches);
  std::ostringstream text;
  nn::summary(text, part);
  CHECK(text.str().find("Non-trainable params: 128") != std::string::npos);
}

}  // namespace frozen_test
