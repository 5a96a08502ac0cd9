// SPDX-License-Identifier: Apache-2.0
// Accumulate: steps of a trainer from the gradients of several batches.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <unistd.h>

#include <locus/locus.hpp>
#include <locus/nn/nn.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "distance.hpp"

namespace accumulate_test {

using namespace locus;

namespace {

struct dataset {
  Tensor<std::int32_t, Dextents<2>> x{Dextents<2>(24, 5)};
  Tensor<std::int32_t, Dextents<1>> y{Dextents<1>(24)};
  dataset() {
    for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = std::int32_t(i * i % 11);
    for (std::int64_t i = 0; i < y.size(); ++i) y.data()[i] = std::int32_t(i % 3);
  }
};
auto network() {
  return nn::Sequential{nn::Embedding<4, 5>{11}, nn::Flatten{}, nn::Dense<6>{nn::tanh},
                        nn::Dense<3>{}};
}
template <class Where, class Optimizer>
auto trainer_of(Optimizer const& o) {
  return nn::compile<Where, double>(network(), o,
                                    nn::SparseCategoricalCrossentropy{nn::from_logits});
}
template <class Where, class Optimizer>
std::vector<double> fitted(Optimizer const& o, std::int64_t batch_size, double* loss = nullptr) {
  dataset const d;
  auto t = trainer_of<Where>(o);
  auto const h =
      t.fit(d.x, d.y, {.epochs = 3, .verbose = 0, .batch_size = batch_size, .shuffle = false});
  CHECK(t.iterations() == 6);
  if (loss) *loss = h["loss"][0];
  return values_of(t.weights());
}

}  // namespace

TEST_CASE(
    "fit with the gradients of three batches makes the steps of one batch three times as large") {
  auto const same = []<class Where>(Where, auto const& o) {
    CHECK(distance(fitted<Where>(nn::Accumulate{3, o}, 4), fitted<Where>(o, 12)) <= 1e-12);
  };
  nn::Adam const adam{.learning_rate = 0.05};
  same(CpuDevice{}, adam);
  same(CpuDevice{},
       nn::ClipGlobalNorm{0.2, nn::SGD{.learning_rate = nn::ExponentialDecay{0.5, 2, 0.5}}});
  testing::simulated_gpus const two{2, {.seed = 3}};
  same(Mirrored<GpuDevice<0>, GpuDevice<1>>{}, adam);
  // the loss of the first epoch is that of other weights: they differ between the steps
  double one = 0, three = 0;
  fitted<CpuDevice>(adam, 12, &one);
  fitted<CpuDevice>(nn::Accumulate{3, adam}, 4, &three);
  CHECK(std::fabs(one - three) <= 1e-12);  // no step lies between the batches of one sum
}

TEST_CASE("batches of a sum go on over the end of an epoch, and have masks of their own") {
  dataset const d;
  auto t = trainer_of<CpuDevice>(nn::Accumulate{4, nn::SGD{}});
  t.fit(d.x, d.y, {.epochs = 3, .verbose = 0, .batch_size = 12});
  CHECK(t.iterations() == 1);  // six batches
  auto drops = nn::compile<CpuDevice, double>(
      nn::Sequential{nn::Input<40>{}, nn::Dropout{0.5}, nn::Dense<1>{}},
      nn::Accumulate{3, nn::SGD{}}, nn::MeanSquaredError{});
  Tensor<double, Dextents<2>> const x(full<double>(dextents<2>(1, 40), 1.)),
      y(full<double>(dextents<2>(1, 1), 0.));
  double const first = drops.train_on_batch(x, y)["loss"];
  CHECK(drops.train_on_batch(x, y)["loss"] != first);
  CHECK(drops.iterations() == 0);
}

TEST_CASE("a checkpoint between the batches of a sum goes on where it was") {
  dataset const d;
  std::string const path = "/tmp/locus_accumulate_" + std::to_string(getpid()) + ".npz";
  auto const o = nn::Accumulate{3, nn::MovingAverage{nn::Adam{}, 0.9}};
  auto a = trainer_of<CpuDevice>(o), b = trainer_of<CpuDevice>(o);
  for (int k = 0; k < 5; ++k) static_cast<void>(a.train_on_batch(d.x, d.y));
  nn::save_checkpoint(path, a);
  for (int k = 0; k < 2; ++k) static_cast<void>(b.train_on_batch(d.x, d.y));
  static_cast<void>(nn::load_checkpoint(path, b));
  unlink(path.c_str());
  static_cast<void>(a.train_on_batch(d.x, d.y));
  static_cast<void>(b.train_on_batch(d.x, d.y));
  CHECK(a.iterations() == 2);
  CHECK(b.iterations() == 2);
  CHECK(distance(values_of(a.weights()), values_of(b.weights())) == 0);
  CHECK(distance(values_of(a.optimizer_state()), values_of(b.optimizer_state())) == 0);
}

}  // namespace accumulate_test
