// SPDX-License-Identifier: Apache-2.0
// The networks of the examples, small: their losses do not depend on the number of replicas.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <worst_of.hpp>

#include <locus/locus.hpp>
#include <locus/nn/layers/conv.hpp>
#include <locus/nn/layers/embedding.hpp>
#include <locus/nn/layers/pool.hpp>
#include <locus/nn/train/trainer.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace replicas_test {

using namespace locus;

namespace {

/// the loss of the epoch so far, behind each step
struct each_step : nn::callback {
  std::vector<double> losses;
  bool wants_batch_logs() const override { return true; }
  void on_batch_end(nn::training&, std::int64_t, nn::logs const& l) override {
    losses.push_back(l["loss"]);
  }
};

template <class T, class Model, class X>
std::vector<double> losses(Model const& model, X const& x, int classes, int epochs) {
  Tensor<std::int32_t, Dextents<1>, CpuDevice> y(Dextents<1>(x.extent(0)));
  for (std::int64_t i = 0; i < y.size(); ++i)
    y.data()[i] = static_cast<std::int32_t>(random_bits(5, i) % std::uint64_t(classes));
  auto trainer = nn::compile<Mirrored<AllGpus>, T>(
      model, nn::Nadam{}, nn::SparseCategoricalCrossentropy{nn::from_logits},
      nn::SparseTopKCategoricalAccuracy<3>{});
  each_step each;
  trainer.fit(x, y, {.epochs = epochs, .callbacks = {&each}, .verbose = 0, .batch_size = 6});
  return each.losses;
}
/// of all numbers of replicas from those of one CPU
template <class Run>
double largest_difference(std::size_t steps, Run&& run) {
  std::vector<double> const one = run();
  CHECK(one.size() == steps);
  CHECK(one.back() != one.front());
  double most = 0;
  for (int n = 1; n <= 4; ++n) {
    testing::simulated_gpus const gpus{n, {.seed = unsigned(n)}};
    std::vector<double> const many = run();
    REQUIRE(many.size() == one.size());
    for (std::size_t i = 0; i < one.size(); ++i) most = worst_of(most, std::fabs(one[i] - many[i]));
  }
  return most;
}

}  // namespace

TEST_CASE(
    "the text network: 200 steps in double, with a sparse gradient and an uneven last batch") {
  nn::Sequential const model{nn::Embedding<7, 24>{30},
                             nn::Conv1D<8, 5>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Conv1D<6, 3>{nn::relu},
                             nn::MaxPool1D<2>{},
                             nn::Flatten{},
                             nn::Dense<5>{}};
  CHECK(largest_difference(200, [&] {
          Tensor<std::int32_t, Dextents<2>, CpuDevice> x(Dextents<2>(27, 24));
          for (std::int64_t i = 0; i < x.size(); ++i)
            x.data()[i] = static_cast<std::int32_t>(random_bits(4, i) % 30);
          return losses<double>(model, x, 5, 40);
        }) < 1e-9);
}

TEST_CASE("the image network: 20 steps in float") {
  nn::Sequential const model{
      nn::Input<12, 12, 1>{},     nn::Conv2D<6, 3>{nn::relu}, nn::MaxPool2D<2>{},
      nn::Conv2D<8, 3>{nn::relu}, nn::MaxPool2D<2>{},         nn::Flatten{},
      nn::Dropout{0.25},          nn::Dense<16>{nn::relu},    nn::Dense<4>{}};
  CHECK(largest_difference(20, [&] {
          Tensor<float, Extents<dyn, 12, 12, 1>, CpuDevice> const x(
              uniform<float>(Extents<dyn, 12, 12, 1>(27), seed{8}));
          return losses<float>(model, x, 4, 4);
        }) < 1e-5);
}

}  // namespace replicas_test
