// SPDX-License-Identifier: Apache-2.0
// Sums over replicas arrive beside the compute queues: whoever touches them waits for them, by whatever
// way. Simulated GPUs find an access that does not.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <on_backends.hpp>
#include <replicas.hpp>

#include <optional>

#include <locus/testing/nccl_recorder.hpp>
#include <locus/testing/simulated_stream.hpp>

namespace arrivals_test {

using namespace locus;

namespace {

using Pair = Mirrored<GpuDevice<0>, GpuDevice<1>>;
using Gradient = Tensor<float, Dextents<1>, Pair>;
using Rows = Tensor<float, Dextents<2>, rows_over<Pair>>;

Rows batch(float first = 0) {
  Tensor<float, Dextents<2>> x(4, 3);
  x = iota<float>(x.extents(), first);
  return Rows(x);
}
constexpr float sum_of_column = 0 + 3 + 6 + 9;

/// g becomes the sums of the columns, and they are still on their way
void leave_under_way(Gradient& g, Rows const& x) {
  g = sum<0>(x);
  CHECK(runtime::has_arrivals());
}

}  // namespace

TEST_CASE("a sum over cards is waited for by whoever touches it") {
  auto const body = [] {
    Rows const x = batch();
    Gradient g(3);
    leave_under_way(g, x);
    SUBCASE("a plan on the same devices") {
      Gradient half(3);
      half = g * .5f;
      CHECK(!runtime::has_arrivals());
      CHECK(fetch(half)(0) == sum_of_column / 2);
    }
    SUBCASE("a plan that fetches it") { CHECK(fetch(g)(1) == sum_of_column + 4); }
    SUBCASE("a plan that writes it") {
      g = full<float>(Dextents<1>{3}, 1.f);
      CHECK(!runtime::has_arrivals());
      for (auto const& part : replicas::parts_of(g)) CHECK(part[2] == 1);
    }
    SUBCASE("the same plan again") {
      Rows const y = batch(1);
      leave_under_way(g, y);
      CHECK(fetch(g)(0) == sum_of_column + 4);
    }
    SUBCASE("a copy of the tensor") {
      Gradient const copy(g);
      CHECK(fetch(copy)(0) == sum_of_column);
    }
    SUBCASE("each replica by itself") {
      for (auto const& part : replicas::parts_of(g)) CHECK(part[0] == sum_of_column);
    }
    SUBCASE("a broadcast by hand") {
      collective::broadcast(g, 1);
      CHECK(fetch(g)(0) == sum_of_column);
    }
    SUBCASE("another device") {
      auto const there = to<GpuDevice<1>>(g);
      CHECK(fetch(there)(2) == sum_of_column + 8);
    }
    SUBCASE("its end, and who gets its memory") {
      for (int k = 0; k < 3; ++k) {
        std::optional<Gradient> other(std::in_place, 3);
        leave_under_way(*other, x);
        other.reset();
        CHECK(sum_of_column == fetch(g)(0));
        Gradient const next(g);
        CHECK(fetch(next)(0) == sum_of_column);
      }
    }
    SUBCASE("its own plan, under other extents and where it is read") {
      Tensor<float, Dextents<1>, Pair> flat(9);
      flat = reshape<-1>(matmul(transpose(x), x));
      CHECK(runtime::has_arrivals());
      auto const once = fetch(flat);
      CHECK(once(4) == 1 + 16 + 49 + 100);
      Tensor<float, Dextents<1>, Pair> again(flat);
      again = reshape<-1>(matmul(transpose(x), x + reshape<1, 3>(g)));
      CHECK(fetch(again)(0) == 0 * 18 + 3 * 21 + 6 * 24 + 9 * 27);
      // terms that read where their sum will lie are set aside
      g = reshape<-1>(reshape<1, 3>(sum<0>(x + g)));
      CHECK(fetch(g)(0) == 5 * sum_of_column);
    }
    SUBCASE("nobody: plans that do not touch it go on") {
      Rows y(4, 3);
      y = x * 2.f;
      CHECK(runtime::has_arrivals());
      CHECK(fetch(sum(y)) == 132);
    }
    SUBCASE("a plan that throws leaves it as it is") {
      Gradient const other(2);
      Tensor<float, Dextents<1>, Pair> wrong(3);
      CHECK_THROWS_AS(wrong = g + other, shape_error);
      CHECK(fetch(g)(0) == sum_of_column);
    }
  };
  SUBCASE("simulated GPUs") {
    testing::simulated_gpus const gpus{2, {.seed = 3}};
    body();
  }
  SUBCASE("simulated GPUs, another order") {
    testing::simulated_gpus const gpus{2, {.seed = 8, .peers = false}};
    body();
  }
  SUBCASE("a recorder") {
    testing::recorder const cards{{.cards = 2}};
    testing::nccl_recorder const nccl;
    body();
  }
  CHECK(!runtime::has_arrivals());
  // terms lie where their sum will, also under other extents
  using X = Tensor<float, Extents<4, 3>, rows_over<Pair>>;
  using Gram = decltype(reshape<-1>(matmul(transpose(std::declval<X&>()), std::declval<X&>())));
  static_assert(plan_of<Gram, Pair>.peak_bytes(gpu(0)) == 0);
}

TEST_CASE("a stream of the user's comes behind sums over cards") {
  testing::simulated_gpus const gpus{2};
  Rows const x = batch();
  Gradient g(3);
  testing::simulated_stream const s;
  leave_under_way(g, x);
  SUBCASE("that a plan beside it has left") {
    Tensor<float, Dextents<1>, GpuDevice<0>> y(3);
    y = full<float>(Dextents<1>{3}, 1.f);
    run(into(y, y * 2.f), on_stream(s.handle()));
    float seen = 0;
    s.launch(g.data(0), 3, false, [&](float const* v) { seen = v[0]; });
    s.synchronize();
    CHECK(seen == sum_of_column);
  }
  SUBCASE("when it becomes a device's queue, and as long as it is") {
    use_stream<GpuDevice<0>>(s.handle());
    use_stream<GpuDevice<1>>(testing::simulated_stream(2).handle());
    float seen = 0;
    s.launch(g.data(0), 3, false, [&](float const* v) { seen = v[0]; });
    s.synchronize();
    CHECK(seen == sum_of_column);
    g = sum<0>(x) + 1.f;
    g = sum<0>(x);
    CHECK(!runtime::has_arrivals());
    s.launch(g.data(0), 3, false, [&](float const* v) { seen = v[1]; });
    s.synchronize();
    CHECK(seen == sum_of_column + 4);
    use_stream<GpuDevice<0>>(own_stream);
    use_stream<GpuDevice<1>>(own_stream);
  }
}

}  // namespace arrivals_test
