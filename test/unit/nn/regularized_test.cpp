// SPDX-License-Identifier: Apache-2.0
// Penalties of weights: the loss and the steps against a loss that is written out.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
#include <locus/nn/layers/regularized.hpp>
#include <locus/nn/nn.hpp>
#include <locus/nn/optimizers/own_loop.hpp>
#include <locus/testing/simulated_gpus.hpp>

#include "distance.hpp"
#include "message_of.hpp"

namespace regularized_test {

using namespace locus;

namespace {

template <class X>
reals values_in(X const& x) {
  return {x.data(), x.data() + x.size()};
}
template <class... E>
auto penalised() {
  return nn::Sequential{
      nn::Input<3>{},
      nn::regularized(
          nn::Dense<4>{nn::tanh}.begin_with(nn::glorot_uniform, nn::random_uniform(0.5)),
          {.kernel = nn::L1(0.03), .bias = nn::L2(0.2)}),
      nn::Residual{nn::regularized(nn::Dense<4>{}, {.kernel = nn::L1L2(0.01, 0.02)})},
      nn::frozen(nn::regularized(nn::Dense<2>{}, {.kernel = nn::L2(5)}))};
}

}  // namespace

TEST_CASE("penalties are part of the loss and of its gradients") {
  testing::simulated_gpus const two{2, {.seed = 7}};
  Tensor<double, Dextents<2>> const x(uniform<double>(dextents<2>(10, 3), seed{1}, -1, 1)),
      y(uniform<double>(dextents<2>(10, 2), seed{2}, -1, 1));
  auto const on = [&]<class Where>(Where) {
    auto t = nn::compile<Where, double>(penalised(), nn::SGD{.learning_rate = 0.1, .momentum = 0.5},
                                        nn::MeanSquaredError{}, nn::MeanAbsoluteError{});
    Tensor<double, Extents<3, 4>> w1;
    Tensor<double, Extents<4>> b1, b2;
    Tensor<double, Extents<4, 4>> w2;
    Tensor<double, Extents<4, 2>> w3;
    auto const all = t.weights();
    nn::read_values(all[0], w1.data()), nn::read_values(all[1], b1.data());
    nn::read_values(all[2], w2.data()), nn::read_values(all[3], b2.data());
    nn::read_values(all[4], w3.data());
    nn::optimizer steps{nn::SGD{.learning_rate = 0.1, .momentum = 0.5}, w1, b1, w2, b2};
    for (int k = 0; k < 6; ++k) {
      auto const p1 = named<"w1">(w1);
      auto const p2 = named<"b1">(b1);
      auto const p3 = named<"w2">(w2);
      auto const p4 = named<"b2">(b2);
      auto const h = named<"h">(tanh(matmul(x, p1) + p2));
      auto const off = matmul(h + (matmul(h, p3) + p4), w3) - y;
      auto const loss = mean(square(off)) + 0.03 * sum(abs(p1)) + 0.2 * sum(square(p2)) +
                        0.01 * sum(abs(p3)) + 0.02 * sum(square(p3));
      double const want = fetch(loss), error = fetch(mean(abs(off)));
      nn::logs const tested = t.evaluate(x, y, {.batch_size = 4});
      CHECK(std::fabs(tested["loss"] - want) <= 1e-12);
      CHECK(std::fabs(tested["mean_absolute_error"] - error) <= 1e-12);
      CHECK(std::fabs(t.train_on_batch(x, y)["loss"] - want) <= 1e-12);
      steps.apply_gradients(grad(loss, p1, p2, p3, p4));
    }
    CHECK(distance(values_of(all[0]), values_in(w1)) <= 1e-12);
    CHECK(distance(values_of(all[1]), values_in(b1)) <= 1e-12);
    CHECK(distance(values_of(all[2]), values_in(w2)) <= 1e-12);
    CHECK(distance(values_of(all[3]), values_in(b2)) <= 1e-12);
    CHECK(distance(values_of(all[4]), values_in(w3)) == 0);
  };
  on(CpuDevice{});
  on(Mirrored<GpuDevice<0>, GpuDevice<1>>{});
}

TEST_CASE("factors of a regularizer are finite and not negative") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const wrong : {-0.1, nan, std::numeric_limits<double>::infinity()}) {
    auto const text = message_of<configuration_error>([&] {
      nn::compile<CpuDevice, double>(
          nn::Sequential{nn::Input<3>{}, nn::regularized(nn::Dense<2>{}, {.bias = nn::L1(wrong)})},
          nn::SGD{}, nn::MeanSquaredError{});
    });
    CHECK(text.find("the factor of a regularizer is negative or no finite number") !=
          std::string::npos);
  }
  CHECK(nn::L1().l1 == 0.01);  // Keras' defaults
  CHECK(nn::L2().l2 == 0.01);
  CHECK(nn::L1L2().l1 == 0.01);
}

}  // namespace regularized_test
