// SPDX-License-Identifier: Apache-2.0
// Least squares in virtual shards: every bit of the losses and of the weights is the same for 1, 2 and 4
// replicas.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include "../../on_backends.hpp"

#include <cstring>
#include <locus/grad/grad.hpp>
#include <locus/ops/shards.hpp>
#include <vector>

#include "../../replicas.hpp"

namespace shards_test {

using namespace locus;

namespace {

constexpr int rows = 24, columns = 5, steps = 20;

struct history {
  std::vector<float> losses, weights;
  bool operator==(history const& o) const {
    return losses.size() == o.losses.size() && weights.size() == o.weights.size() &&
           std::memcmp(losses.data(), o.losses.data(), sizeof(float) * losses.size()) == 0 &&
           std::memcmp(weights.data(), o.weights.data(), sizeof(float) * weights.size()) == 0;
  }
};

/// means: gradient descent of |x w - y|^2 / rows on R replicas
template <int R>
history train() {
  using Where = replicas::mirrored<R>;
  Tensor<float, Dextents<2>, rows_over<Where>> x(
      uniform<float>(Dextents<2>(rows, columns), seed{1}, -1, 1));
  Tensor<float, Dextents<1>, rows_over<Where>> y(uniform<float>(Dextents<1>(rows), seed{2}));
  Tensor<float, Dextents<1>, Where> weights(uniform<float>(Dextents<1>(columns), seed{3}));
  Tensor<float, Extents<>, Where> loss;
  auto const w = named<"w">(weights);
  history seen;
  for (int k = 0; k < steps; ++k) {
    auto const error = sum<2>(virtual_shards<4>(x) * per_shard<4>(w)) - virtual_shards<4>(y);
    auto const all = value_and_grad(sum_of_shards(square(error)) / global_batch(x), w);
    auto const step =
        plan<reproducible<>>(into(loss, get<0>(all)), into(weights, w - 0.2 * get<1>(all)));
    static_assert(step.all_reduces() == 0);
    run(step);
    seen.losses.push_back(fetch(loss));
  }
  seen.weights = replicas::parts_of(weights)[0];
  for (auto const& copy : replicas::parts_of(weights)) CHECK(copy == seen.weights);
  return seen;
}

}  // namespace

TEST_CASE("least squares in four shards: not a bit depends on the number of replicas") {
  history host;
  on_few_backends([&](backends::machine const& m) {
    auto const one = train<1>();
    CHECK(one.losses.back() < 0.5f * one.losses.front());
    CHECK(one == train<2>());
    CHECK(one == train<4>());
    if (!m.has_gpu()) host = one;
    CHECK(one == host);
  });
}
TEST_CASE("rows that are no equal shards are refused") {
  Tensor<float, Dextents<2>> x(6, 2);
  CHECK_THROWS_WITH_AS(static_cast<void>(virtual_shards<4>(x)),
                       doctest::Contains("6 rows are not 4 shards"), shape_error);
}

}  // namespace shards_test
