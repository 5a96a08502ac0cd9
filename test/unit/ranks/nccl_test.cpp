// SPDX-License-Identifier: Apache-2.0
// NCCL among the cards of all ranks: it carries the all-reduces that it computes, with the sums of
// one process; where a rank has no card, other settings or another order, the host carries them.
#include <cmath>
#include <string>

#include <locus/collective/cards_of_ranks.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

using namespace rank_tests;

namespace {

using over_all = Ranks<AllGpus>;
using fake = simulated::fake_nccl<simulated::nccl_engine>;
double all_reduces_of_nccl() {
  return fake::instance().operations[int(simulated::nccl_call::all_reduce)];
}

/// whole numbers whose sums are exact in T
template <class T, class Place>
Tensor<T, Dextents<2>, Place> matrix(std::int64_t rows, std::int64_t columns) {
  double const most = sizeof(T) == 2 ? 2. : 100.;
  return cast<T>(floor(most * uniform<double>(dextents<2>(rows, columns), seed{3})));
}

/// the value on each replica of all ranks
template <class X>
auto everywhere(X const& x) {
  return to<Mirrored<over_all>>(x);
}
template <class T>
void sums(doubles& out) {
  auto const x = matrix<T, Sharded<0, over_all>>(23, 5);
  put(out, everywhere(sum(x))), put(out, everywhere(sum<0>(x))), put(out, everywhere(sum(x * x)));
  put(out, everywhere(max(x))), put(out, everywhere(min<0>(x)));
  put(out, everywhere(mean(cast<double>(x)))),
      put(out, everywhere(prod<0>(minimum(x, T(1)) + T(1))));
  put(out, sum<0>(x));
}
doubles all_sums() {
  doubles out;
  sums<double>(out), sums<float>(out), sums<std::int32_t>(out), sums<std::int64_t>(out);
  sums<std::uint8_t>(out), sums<half>(out), sums<bfloat16>(out);
  return out;
}
/// the sums, then the number of NCCL's all-reduces on this rank
doubles sums_and_calls() {
  doubles out = all_sums();
  out.push_back(all_reduces_of_nccl());
  return out;
}

doubles train() {
  Tensor<double, Extents<dyn, 6>> x = eval(uniform<double>(Extents<dyn, 6>(48), seed{1}));
  Tensor<std::int32_t, Dextents<1>> y =
      eval(cast<std::int32_t>(3. * uniform<double>(dextents<1>(48), seed{2})));
  auto trainer = nn::compile<Mirrored<over_all>, double>(
      nn::Sequential{nn::Input<6>{}, nn::Dense<8>{nn::relu}, nn::BatchNorm<nn::cross_replica>{},
                     nn::Dense<3>{}},
      nn::Adam{}, nn::SparseCategoricalCrossentropy{nn::from_logits},
      nn::SparseCategoricalAccuracy{});
  auto const batches = data::from_tensors(x, y).shuffle({.seed = 7}).batch(16);
  doubles out = trainer.fit(batches, {.epochs = 3, .verbose = 0})["loss"];
  for (double const v : trainer.evaluate(batches).values) out.push_back(v);
  return out;
}

/// steps of a stencil, with margins of one and two rows; then the number of NCCL's sends on this rank
template <class List>
doubles stencils() {
  using Plate = Tensor<double, Dextents<2>, Sharded<0, List, Halo<2>>>;
  Plate now(uniform<double>(dextents<2>(23, 19), seed{3})), next(now);
  for (int k = 0; k < 6; ++k) {
    if (k % 2 == 0)
      let(now, [&](auto u) {
        run(into(interior<1>(next), 0.25 * (interior<1, -1, 0>(u) + interior<1, 1, 0>(u) +
                                            interior<1, 0, -1>(u) + interior<1, 0, 1>(u))));
      });
    else
      let(now, [&](auto u) {
        run(into(interior<2>(next), 0.25 * (interior<2, -2, 0>(u) + interior<2, 2, 0>(u) +
                                            interior<2, 0, -2>(u) + interior<2, 0, 2>(u))));
      });
    swap(now, next);
  }
  doubles out;
  put(out, now);
  out.push_back(fake::instance().operations[int(simulated::nccl_call::send)]);
  return out;
}

template <class F>
std::vector<testing::rank_end> good_ends(std::vector<int> const& layout, F const& f,
                                         int cards = 0) {
  auto const ends = testing::on_ranks(int(layout.size()), f, {.gpus = layout, .cards = cards});
  for (testing::rank_end const& e : ends) {
    INFO(written(layout));
    REQUIRE(e.error == "");
    REQUIRE(e.status == 0);
  }
  return ends;
}
/// means: the sums are those of one process; the last bit of a mean may differ on a card
void check_sums(doubles const& got, doubles const& want) {
  REQUIRE(got.size() == want.size() + 1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO("number ", i);
    CHECK((got[i] == want[i] || std::abs(got[i] - want[i]) <= 4e-16 * std::abs(want[i])));
  }
}
doubles of_one_process() { return good_ends({0}, all_sums)[0].numbers; }

}  // namespace

TEST_CASE(
    "NCCL carries the all-reduces among the cards of all ranks, with the sums of one process") {
  doubles const want = of_one_process();
  for (auto const& layout : {std::vector<int>{1, 1}, {2, 2}, {1, 2}, {3, 1, 2}, {1, 1, 1, 1}})
    for (testing::rank_end const& e : good_ends(layout, sums_and_calls)) {
      INFO(written(layout));
      check_sums(e.numbers, want);
      CHECK(e.numbers.back() > 0);
    }
}

TEST_CASE("GPUs of a rank that share a card fold there first") {
  doubles const want = of_one_process();
  for (auto const& layout : {std::vector<int>{4, 4}, {4, 1}, {3, 2, 4}})
    for (testing::rank_end const& e : good_ends(layout, sums_and_calls, 2)) {
      INFO(written(layout));
      check_sums(e.numbers, want);
      CHECK(e.numbers.back() > 0);
    }
}

TEST_CASE("where NCCL does not join all ranks, the host carries the same sums") {
  doubles const want = of_one_process();
  auto const check = [&](std::vector<int> const& layout, auto const& f) {
    for (testing::rank_end const& e : good_ends(layout, f)) {
      INFO(written(layout));
      check_sums(e.numbers, want);
      CHECK(e.numbers.back() == 0);
    }
  };
  SUBCASE("a rank without a GPU") { check({2, 0, 1}, sums_and_calls); }
  SUBCASE("ranked sums") {
    check({2, 2}, [] {
      config::set_reduction_order(reduction_order::ranked);
      return sums_and_calls();
    });
  }
  SUBCASE("a program that chose the host") {
    check({2, 1}, [] {
      config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
      return sums_and_calls();
    });
  }
}

TEST_CASE("a list of named GPUs: NCCL where each rank has them, else the host on all ranks") {
  auto const f = [] {
    using both = Sharded<0, Ranks<GpuDevice<0>, GpuDevice<1>>>;
    Tensor<double, Dextents<2>> a = matrix<double, CpuDevice>(12, 4);
    Tensor<double, Dextents<2>, both> x(a);
    doubles out;
    put(out, to<Mirrored<Ranks<GpuDevice<0>, GpuDevice<1>>>>(sum<0>(x)));
    out.push_back(all_reduces_of_nccl());
    return out;
  };
  doubles want;
  struct row {
    std::vector<int> layout;
    bool calls;
  };
  for (row const& r : {row{{2, 2}, true}, {{3, 2}, true}, {{2, 1}, false}, {{1, 2, 3}, false}}) {
    INFO(written(r.layout));
    auto const ends = good_ends(r.layout, f);
    for (testing::rank_end const& e : ends) {
      doubles const sums(e.numbers.begin(), e.numbers.end() - 1);
      if (want.empty()) want = sums;
      CHECK(sums == want);
      CHECK((e.numbers.back() > 0) == r.calls);
    }
  }
}

TEST_CASE("rows of halos go from card to card by NCCL") {
  auto const one = good_ends({0}, stencils<CpuDevice>)[0].numbers;
  struct row {
    std::vector<int> layout;
    int cards;
  };
  for (row const& r : {row{{1, 1}, 0}, {{2, 2}, 0}, {{1, 3}, 0}, {{2, 1, 1}, 0}, {{4, 2}, 2}})
    for (testing::rank_end const& e : good_ends(r.layout, stencils<over_all>, r.cards)) {
      INFO(written(r.layout));
      CHECK(doubles(e.numbers.begin(), e.numbers.end() - 1) == doubles(one.begin(), one.end() - 1));
      CHECK((e.numbers.back() > 0) == (r.cards == 0));  // GPUs of one card send by the host
    }
}

TEST_CASE("training by NCCL among ranks: the losses of one process") {
  auto const one = good_ends({1}, train)[0].numbers;
  for (auto const& layout : {std::vector<int>{2, 2}, {1, 3}, {1, 1, 1}})
    for (testing::rank_end const& e : good_ends(layout, train)) {
      REQUIRE(e.numbers.size() == one.size());
      for (std::size_t i = 0; i < one.size(); ++i) CHECK(std::abs(e.numbers[i] - one[i]) < 1e-12);
    }
}

TEST_CASE("ranks with different settings are told apart before NCCL waits for ever") {
  for (testing::rank_end const& e : testing::on_ranks(
           2,
           [] {
             all_sums();
             if (ranks::rank() == 1)
               config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
             return all_sums();
           },
           {.gpus = {1, 1}})) {
    INFO(e.error);
    CHECK(e.error.find("all_reduce by NCCL of 8 bytes") != std::string::npos);
    CHECK(e.error.find("the ranks of this program differ") != std::string::npos);
  }
}

TEST_CASE("NCCL fails on one rank: its error says so, and no later collective runs") {
  auto const ends = testing::on_ranks(2,
                                      [] {
                                        everywhere(sum(matrix<double, Sharded<0, over_all>>(8, 2)));
                                        if (ranks::rank() == 0)
                                          fake::instance().mischief.fail_at =
                                              fake::instance().calls + 1;
                                        std::string first, second;
                                        config::set_collective_timeout(5);
                                        try {
                                          all_sums();
                                        } catch (collective_error const& e) {
                                          first = e.what();
                                        }
                                        try {
                                          all_sums();
                                        } catch (collective_error const& e) {
                                          second = e.what();
                                        }
                                        throw error(first + " | " + second);
                                        return doubles{};
                                      },
                                      {.gpus = {1, 1}});
  INFO(ends[0].error);
  CHECK(ends[0].error.find("and the cards of other ranks failed at /GPU:0: NCCL refused it") !=
        std::string::npos);
  CHECK(ends[0].error.find("start it again from its checkpoint") != std::string::npos);
  CHECK(ends[0].error.find("| locus: all_reduce") != std::string::npos);
  INFO(ends[1].error);
  CHECK(ends[1].error.starts_with("locus: "));
}

TEST_CASE("a missing event is found among ranks, too") {
  auto const check = [](auto const& f) {
    auto const with_fault = [&f] {
      runtime::planted.no_waits = true;
      return f();
    };
    for (testing::rank_end const& e : testing::on_ranks(2, with_fault, {.gpus = {2, 2}})) {
      INFO(e.error);
      CHECK(e.error != "");
    }
  };
  SUBCASE("of an all-reduce") { check(train); }
  SUBCASE("of a halo") { check(stencils<over_all>); }
}

TEST_CASE("ranks that NCCL cannot join are named, with the remedy") {
  auto const reason = [](auto const& change) {
    return testing::on_ranks(3,
                             [&change] {
                               std::vector<runtime::rank_cards> all(3);
                               for (std::size_t r = 0; r < 3; ++r) {
                                 all[r].gpus = 2, all[r].has_nccl = true;
                                 for (std::size_t k = 0; k < 2; ++k)
                                   all[r].identity[k] = 10 * r + k + 1;
                               }
                               change(all);
                               if (ranks::rank() == 1)
                                 throw error(locus::detail::reason_without_nccl(all));
                               return doubles{};
                             })[1]
        .error;
  };
  CHECK(reason([](auto&) {}) == "");
  CHECK(reason([](auto& all) { all[2].has_nccl = false; }) ==
        "rank 2 on this computer has GPUs, and no NCCL of version 2.14 or later; install it there");
  CHECK(reason([](auto& all) { all[2].gpus = 0, all[2].has_nccl = false; }) == "");
  CHECK(
      reason([](auto& all) { all[2].identity[1] = all[0].identity[0]; }) ==
      "rank 0 on this computer and rank 2 on this computer use one GPU, which NCCL refuses; start "
      "one rank on each host, or give each rank its own GPUs: examples/tools/ranks.sh "
      "--gpus-per-rank 1");
}
