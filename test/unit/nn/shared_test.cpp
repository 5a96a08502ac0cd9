// SPDX-License-Identifier: Apache-2.0
// Shared layers: their gradients are the central differences of the loss, wherever their places are.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/layers/frozen.hpp>
#include <locus/nn/nn.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "distance.hpp"

namespace shared_test {

using namespace locus;

namespace {

using matrix = Tensor<double, Dextents<2>, CpuDevice>;
matrix random_rows(std::int64_t columns, std::uint64_t from) {
  return matrix(uniform<double>(dextents<2>(6, columns), seed{from}, -1, 1));
}

/// means: two steps from the same weights change each trained weight by its slope, and no other weight
template <class Where = CpuDevice, class Model>
void steps_follow_slopes(Model const& model, std::size_t trained) {
  auto t = nn::compile<Where, double>(model, nn::SGD{1.0}, nn::MeanSquaredError{});
  auto const x = random_rows(3, 1), y = random_rows(2, 2);
  auto const all = t.weights();
  std::vector<reals> before, slopes;
  std::size_t learn = 0;
  for (nn::stored const& w : all) {
    reals values = values_of(w);
    reals slope(values.size());
    for (std::size_t i = 0; i < values.size() && w.trainable; ++i) {
      auto const loss_at = [&](double v) {
        reals other = values;
        other[i] = v, nn::write_values(w, other.data());
        return t.evaluate(x, y)["loss"];
      };
      slope[i] = (loss_at(values[i] + 1e-5) - loss_at(values[i] - 1e-5)) / 2e-5;
    }
    nn::write_values(w, values.data());
    learn += w.trainable, before.push_back(values), slopes.push_back(slope);
  }
  CHECK(learn == trained);
  for (int step = 0; step < 2; ++step) {
    CAPTURE(step);
    static_cast<void>(t.train_on_batch(x, y));
    for (std::size_t k = 0; k < all.size(); ++k) {
      CAPTURE(all[k].name);
      reals change = before[k];
      reals const after = values_of(all[k]);
      for (std::size_t i = 0; i < change.size(); ++i) change[i] -= after[i];
      CHECK(distance(change, slopes[k]) <= 1e-8);
      if (all[k].trainable) CHECK(distance(slopes[k], reals(change.size())) > 1e-4);
      nn::write_values(all[k], before[k].data());
    }
  }
}
auto tower() { return nn::shared(nn::Dense<3>{nn::tanh}); }

}  // namespace

TEST_CASE("a layer in both paths of a branch learns from both") {
  auto const one = tower();
  auto const both = nn::Residual{one, nn::Dense<2>{}}.branch(one, nn::Dense<2>{});
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, both}, 6);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, nn::Dense<3>{}, both}, 8);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, one, both}, 6);
  steps_follow_slopes(
      nn::Sequential{nn::Input<3>{},
                     nn::Residual{nn::Residual{one, nn::Dense<3>{}}, nn::Dense<2>{}}.branch(
                         nn::Residual{one}, one, nn::Dense<2>{})},
      8);
  auto const still = nn::shared(nn::frozen(nn::Dense<3>{nn::tanh}));
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, nn::Residual{still, nn::Dense<2>{}}.branch(
                                                         still, nn::Dense<2>{})},
                      4);
  testing::simulated_gpus const two{2};
  steps_follow_slopes<Mirrored<GpuDevice<0>, GpuDevice<1>>>(
      nn::Sequential{nn::Input<3>{}, nn::Dense<3>{}, both}, 8);
}

TEST_CASE("a shared layer inside of a shared network learns from all its places") {
  auto const one = tower();
  auto const net = nn::shared(nn::Sequential{one, nn::Dense<3>{nn::tanh}});
  nn::Dense<2> const end;
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, net, net, end}, 6);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, one, net, end}, 6);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, one, net, net, end}, 6);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, net, one, net, end}, 6);
  steps_follow_slopes(nn::Sequential{nn::Input<3>{}, nn::Residual{net, one, end}.branch(net, end)},
                      8);
}

namespace {

/// a layer that passes everything on; its backward pass throws once, on request
struct interrupts {
  static constexpr char const* kind = "Interrupts";
  static inline bool now = false;
  template <class In>
  using output = In;
  template <class T, class In, class Replicas>
  struct state {
    using kept = nn::nothing;
    using batch = nn::batch_of<T, In::rank() + 1, Replicas>;
    static constexpr bool reads_x = false, reads_y = false;
    shape extents;
    shape output_extents() const { return extents; }
    template <class F>
    void for_each_parameter(F&&) {}
    batch forward(batch const& x, kept&, nn::pass const&) { return batch(x); }
    batch backward(batch const&, batch const&, kept&, batch dy, bool) {
      if (std::exchange(now, false)) throw std::runtime_error("no memory");
      return dy;
    }
  };
  template <class T, class In, class Replicas>
  auto make(shape const& in, std::uint64_t) const {
    return state<T, In, Replicas>{in};
  }
};

}  // namespace

TEST_CASE("a shared Dropout draws anew at each of its places") {
  matrix x(Dextents<2>(1, 64));
  for (std::int64_t i = 0; i < 64; ++i) x.data()[i] = 1;
  struct : nn::pass_watch {
    std::vector<reals> seen;
    void saw(std::string_view layer, tensor_block const& y) override {
      if (!layer.starts_with("dropout")) return;
      auto const* const v = static_cast<double const*>(y.pieces[0].data);
      seen.emplace_back(v, v + y.extents.size());
    }
  } watch;
  auto const drop = nn::shared(nn::Dropout{0.5});
  auto const alone = nn::Dropout{0.5};
  auto const run = [&](auto const& model) {
    using model_type = std::remove_cvref_t<decltype(model)>;
    nn::Network<model_type, double, CpuDevice> net(model);
    typename decltype(net)::kept_type kept{};
    nn::pass const p{.training = true, .step = 3, .seed = 1, .watch = &watch};
    auto y = net.state().forward(net.batch_of_examples(x), kept, p);
    return y;
  };
  static_cast<void>(run(nn::Sequential{nn::Input<64>{}, drop, drop, drop}));
  static_cast<void>(run(nn::Sequential{nn::Input<64>{}, alone}));
  REQUIRE(watch.seen.size() == 4);
  CHECK(watch.seen[0] == watch.seen[3]);  // the first place is as a layer alone
  int kept[3] = {};
  for (int k = 0; k < 3; ++k)
    for (double v : watch.seen[std::size_t(k)]) kept[k] += v != 0;
  CHECK(kept[1] < kept[0]);
  CHECK(kept[2] < kept[1]);
}

TEST_CASE("a step that failed between two places of a layer leaves no gradients to the next") {
  auto const one = tower();
  auto const model =
      nn::Sequential{nn::Input<3>{}, nn::Dense<3>{}, one, interrupts{}, one, nn::Dense<2>{}};
  auto t = nn::compile<CpuDevice, double>(model, nn::SGD{1.0}, nn::MeanSquaredError{});
  auto want = nn::compile<CpuDevice, double>(model, nn::SGD{1.0}, nn::MeanSquaredError{});
  auto const x = random_rows(3, 1), y = random_rows(2, 2);
  auto const begin = values_of(t.weights());
  interrupts::now = true;
  CHECK_THROWS_AS(t.train_on_batch(x, y), std::runtime_error);
  auto const restored = want.weights();
  for (std::size_t k = 0; k < restored.size(); ++k)
    nn::write_values(t.weights()[k], values_of(restored[k]).data());
  CHECK(values_of(t.weights()) == begin);
  static_cast<void>(t.train_on_batch(x, y)), static_cast<void>(want.train_on_batch(x, y));
  CHECK(values_of(t.weights()) == values_of(want.weights()));
}

TEST_CASE(
    "each weight of a shared network has a name of its own, and comes back from a checkpoint") {
  auto const net = nn::shared(nn::Sequential{nn::Dense<3>{nn::tanh}, nn::BatchNorm{},
                                             nn::Residual{nn::Dense<3>{nn::tanh}}});
  nn::Sequential const model{nn::Input<3>{}, net, net, nn::Dense<2>{}};
  auto t = nn::compile<CpuDevice, double>(model, nn::Adam{0.1}, nn::MeanSquaredError{});
  std::vector<std::string> names;
  for (nn::stored const& w : t.weights()) names.push_back(w.name);
  CHECK(names == std::vector<std::string>{"dense/kernel", "dense/bias", "batch_normalization/gamma",
                                          "batch_normalization/beta",
                                          "batch_normalization/moving_mean",
                                          "batch_normalization/moving_variance", "dense_1/kernel",
                                          "dense_1/bias", "dense_2/kernel", "dense_2/bias"});
  auto const x = random_rows(3, 1), y = random_rows(2, 2);
  static_cast<void>(t.train_on_batch(x, y));
  std::string const path = "/tmp/locus_shared_" + std::to_string(getpid()) + ".npz";
  nn::save_checkpoint(path, t);
  auto other = nn::compile<CpuDevice, double>(model, nn::Adam{0.1}, nn::MeanSquaredError{});
  static_cast<void>(nn::load_checkpoint(path, other));
  unlink(path.c_str());
  CHECK(values_of(other.weights()) == values_of(t.weights()));
  static_cast<void>(t.train_on_batch(x, y)), static_cast<void>(other.train_on_batch(x, y));
  CHECK(values_of(other.weights()) == values_of(t.weights()));
}

}  // namespace shared_test
