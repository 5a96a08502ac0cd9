// SPDX-License-Identifier: Apache-2.0
// Gradients through sums over replicas, against one loss over the whole batch.
#include <doctest/doctest.h>

#include <cmath>

#include <locus/locus.hpp>
#include <locus/nn/train/replica_gradients.hpp>
#include <locus/strategy/strategy.hpp>
#include <locus/tensor/rows_over.hpp>
#include <locus/testing/simulated_gpus.hpp>

namespace replica_gradients_test {

using namespace locus;

namespace {

template <class Replicas, class Op>
void compare(Op op, int replicas) {
  Tensor<double, Extents<6, 3>> const data(uniform<double>(Extents<6, 3>{}, seed{3}, -1, 1));
  Tensor<double, Extents<3>> const weights{0.5, -1, 2};
  strategy<Replicas> const s;
  auto const rows = to<rows_over<Replicas>>(data);
  auto const mirrored = to<typename strategy<Replicas>::policy>(weights);
  // each replica's loss reads the sum, or the mean, of a value of all replicas, and a value of its own
  auto const parts = s.run(
      [op](auto& c, auto const& x, auto const& of_w) {
        auto const w = named<"w">(of_w);
        auto const m = nn::reduced(c, op, sum<0>(square(x * w)));
        auto const h = named<"m">(m.value());
        auto const loss = sum(h * h * w) + sum(x * w * w);
        auto const direct = eval(
            on<typename std::remove_reference_t<decltype(c)>::policy>(grad(loss, w), c.device()));
        auto const through = m.gradient(c, grad(loss, h), w);
        return eval(direct + through);
      },
      rows, mirrored);
  auto const is = s.reduce(across::sum, parts);
  // the sum of all replicas' losses as one expression
  auto const w = named<"w">(weights);
  double const share = Op::is_mean ? 1. / replicas : 1;
  auto const h = named<"h">(sum<0>(square(data * w)) * share);
  Tensor<double, Extents<3>> const want(
      grad(double(replicas) * sum(h * h * w) + sum(data * w * w), w));
  for (std::int64_t i = 0; i < 3; ++i) CHECK(std::fabs(is.data()[i] - want.data()[i]) <= 1e-12);
}

}  // namespace

TEST_CASE("gradients pass through sums and means over replicas") {
  testing::simulated_gpus const three{3, {.seed = 4}};
  compare<Mirrored<GpuDevice<0>, GpuDevice<1>>>(across::sum, 2);
  compare<Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>>(across::mean, 3);
  compare<Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>>(across::mean, 3);
}

TEST_CASE("gradients pass through the rows of all replicas") {
  using Cpus = Mirrored<Cpu<0>, Cpu<1>, Cpu<2>>;
  Tensor<double, Extents<7, 3>> const data(uniform<double>(Extents<7, 3>{}, seed{5}, -1, 1));
  Tensor<double, Extents<7, 1>> const factors(uniform<double>(Extents<7, 1>{}, seed{6}, -1, 1));
  Tensor<double, Extents<3>> const weights{0.5, -1, 2};
  strategy<Cpus> const s;  // 3, 3 and 1 rows
  auto const parts = s.run(
      [&](auto& c, auto const& x, auto const& of_w) {
        auto const w = named<"w">(of_w);
        auto const all = nn::gathered(c, square(x * w));
        auto const h = named<"h">(all.value());
        auto const loss = double(c.replica_id() + 1) * sum(h * h * factors);
        return all.gradient(c, grad(loss, h), w);
      },
      to<rows_over<Cpus>>(data), to<Cpus>(weights));
  auto const is = s.reduce(across::sum, parts);
  auto const w = named<"w">(weights);
  auto const h = named<"h">(square(data * w));
  Tensor<double, Extents<3>> const want(grad(6. * sum(h * h * factors), w));
  for (std::int64_t i = 0; i < 3; ++i) CHECK(std::fabs(is.data()[i] - want.data()[i]) <= 1e-12);
}

}  // namespace replica_gradients_test
