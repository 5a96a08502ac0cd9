// SPDX-License-Identifier: Apache-2.0
// A GPU that stands in for one that is not there lends its memory, its limit and its statistics:
// nothing is counted or obtained twice.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <doctest/doctest.h>
#include <string>

#include "on_backends.hpp"
#include <message_of.hpp>

namespace stand_ins_test {

using namespace locus;

namespace {

template <int N>
using On = Tensor<float, Dextents<1>, GpuDevice<N>>;

/// on one simulated and one recorded card of that many bytes each
template <class Body>
void on_small_cards(int cards, std::int64_t bytes, Body const& body) {
  {
    INFO("simulated");
    testing::simulated_gpus const node{cards, {.memory_limit = bytes}};
    body();
  }
  INFO("recorded");
  testing::recorder const node{{.cards = cards, .bytes = bytes}};
  body();
}
std::int64_t held(char const* name) { return config::get_memory_info(name).current; }

}  // namespace

TEST_CASE("a stand-in with memory growth off takes nothing from the card besides") {
  on_small_cards(2, 64_MiB, [] {
    config::apply({.per_process_gpu_memory_fraction = 0.5, .allow_growth = false});
    {
      On<2> first(100);  // before the device that stands in
      On<0> a(100);
      On<4> b(100);
      On<3> c(100);  // of GPU:1
      a = full<float>(dextents<1>(100), 1), b = a * 2.f, first = b + 1.f, c = first;
      CHECK(fetch(sum(c)) == 300);
      CHECK(held("GPU:0") == 3 * 512);
      CHECK(held("GPU:1") == 512);
    }
    CHECK(held("GPU:0") == 0);
  });
}

TEST_CASE("the limit of a card holds for all that it stands in for, and its statistics show them") {
  on_small_cards(1, 8_MiB, [] {
    std::int64_t const n = 1 << 18;  // 1 MiB of floats
    On<0> a(n);
    On<1> b(n);
    On<2> c(n);
    CHECK(held("GPU:0") == 3_MiB);
    CHECK(held("GPU:2") == 3_MiB);
    std::string const text = message_of<out_of_memory>([&] { On<7> d(5 * n + 1); });
    CHECK(text.starts_with("locus: no memory on /GPU:0 for a tensor of float[1310721]: requested "
                           "5243136 bytes, in use 3145728, limit 8388608"));
    a = full<float>(dextents<1>(n), 1), b = a * 2.f, c = a + to<GpuDevice<0>>(b);
    CHECK(fetch(sum(c)) == float(3 * n));
    config::reset_memory_stats<GpuDevice<2>>();
    CHECK(config::get_memory_info("GPU:0").peak == 3_MiB);
  });
}

TEST_CASE("a GPU that is not there has no memory of its own that could come from a resource") {
  on_small_cards(2, 4_MiB, [] {
    On<0>(1);
    CHECK(message_of<unknown_device>(
              [] { config::set_memory_resource("GPU:3", config::get_memory_resource("GPU:1")); }) ==
          "locus: /GPU:3 is not there and has no memory of its own; give the memory resource to "
          "/GPU:1");
  });
}

TEST_CASE("limits of logical devices hold for what they stand in for") {
  auto const body = [] {
    config::set_logical_devices("GPU:0", {{.memory_limit = 1_MiB}, {.memory_limit = 2_MiB}});
    On<3> a(1 << 18), b(1 << 17);  // GPU:3 is GPU:1
    CHECK(config::get_memory_info("GPU:1").current == 3_MiB / 2);
    CHECK(config::get_memory_info("GPU:3").limit == 2_MiB);
    CHECK(message_of<out_of_memory>([] { On<1> c(1 << 18); }).find("on /GPU:1") !=
          std::string::npos);
    On<2> d(1 << 18);  // GPU:2 is GPU:0
    CHECK_THROWS_AS(On<0>(1), out_of_memory);
  };
  on_small_cards(1, 64_MiB, body);
}

TEST_CASE("replicas over one card by several names: temporaries, sums and copies of their own") {
  auto const body = [] {
    using Both = Mirrored<GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
    using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>, GpuDevice<2>>;
    std::int64_t const rows = 31, columns = 5;
    Tensor<double, Dextents<2>> const x(uniform<double>(dextents<2>(rows, columns), seed{1}));
    Tensor<double, Dextents<2>> const v(uniform<double>(dextents<2>(columns, 7), seed{2}));
    auto const xs = to<Pieces>(x);
    auto w = to<Both>(v);
    // sums that a second kernel reads: temporaries on each replica
    auto const step = plan(into(w, w - matmul(transpose(xs), softmax(matmul(xs, w)))));
    for (int k = 0; k < 3; ++k) run(step);
    Tensor<double, Dextents<2>> expected = v;
    for (int k = 0; k < 3; ++k)
      expected = expected - matmul(transpose(x), softmax(matmul(x, expected)));
    CHECK(fetch(max(abs(fetch(w) - expected))) < 1e-12);
    Tensor<double, Dextents<2>> const back(xs);
    CHECK(equal(back, x));

    Tensor<double, Dextents<1>, GpuDevice<0>> g0(iota<double>(dextents<1>(9)));
    Tensor<double, Dextents<1>, GpuDevice<1>> g1(iota<double>(dextents<1>(9)) * 2.), out(g1);
    Tensor<double, Dextents<1>, GpuDevice<2>> g2(iota<double>(dextents<1>(9)) * 3.);
    collective::reduce<collective::sum>(out, g0, g1, g2);
    CHECK(equal(fetch(out), iota<double>(dextents<1>(9)) * 6.));
    CHECK(equal(fetch(g1), iota<double>(dextents<1>(9)) * 2.));
    collective::all_reduce<collective::sum>(g0, g1, g2);
    CHECK(equal(fetch(g0), iota<double>(dextents<1>(9)) * 6.));
    CHECK(equal(fetch(g2), iota<double>(dextents<1>(9)) * 6.));
    collective::broadcast(g0, g1, g2);
    g2 = g1 + to<GpuDevice<1>>(g0);
    CHECK(equal(fetch(g2), iota<double>(dextents<1>(9)) * 12.));
  };
  for (int cards : {1, 2})
    for (unsigned seed : {1u, 2u, 4u}) {
      INFO(cards, " cards, seed ", seed);
      testing::simulated_gpus const node{cards, {.seed = seed}};
      body();
    }
  for (int cards : {1, 2}) {
    INFO(cards, " recorded cards");
    testing::recorder const node{{.cards = cards}};
    body();
  }
}

}  // namespace stand_ins_test
