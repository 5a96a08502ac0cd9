// SPDX-License-Identifier: Apache-2.0
// NCCL among the cards of all ranks: it carries the all-reduces that it computes, with the sums of
// one process; where a rank has no card, other settings or another order, the host carries them.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <locus/collective/cards_of_ranks.hpp>
#include <locus/locus.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "../../rank_programs.hpp"
#include "on_ranks.hpp"

namespace nccl_test {

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
template <class List, class One>
doubles moves() {
  doubles out;
  rank_programs::moves<List, One>(out);
  return out;
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

TEST_CASE("values go from card to card by NCCL, with the bits of one process") {
  auto const one = good_ends({0}, moves<CpuDevice, CpuDevice>)[0].numbers;
  REQUIRE(one.size() > 5000);
  auto const check = [&](std::vector<int> const& layout, int cards = 0) {
    for (testing::rank_end const& e : good_ends(layout, moves<over_all, GpuDevice<0>>, cards)) {
      INFO(written(layout));
      CHECK(e.numbers == one);
    }
  };
  for (auto const& layout :
       {std::vector<int>{1, 1}, {2, 2}, {1, 3}, {2, 1, 1}, {1, 1, 1, 1}, {3, 1, 2, 2}})
    check(layout);
  check({4, 2}, 2), check({2, 0, 1});  // by the host
}

TEST_CASE("each move is a call of NCCL on the cards that it concerns, and counts what it counts by "
          "the host") {
  constexpr int ranks = 3;
  std::vector<int> const layout{2, 1, 1};
  struct moved {
    int broadcasts, all_gathers, sends, receives;
  };
  for (std::int64_t const n : {24, 23, 2}) {
    auto const job = [n] {
      Tensor<float, Dextents<2>, GpuDevice<0>> a(uniform<float>(dextents<2>(n, 5), seed{1}));
      Tensor<float, Dextents<2>, GpuDevice<0>> b(a);
      Tensor<float, Dextents<2>, Sharded<0, over_all>> x(a);
      Tensor<float, Dextents<2>, Mirrored<over_all>> m(a);
      Tensor<float, Dextents<2>> h(a);
      doubles out;
      auto const count = [&](auto make) {
        int before[7];
        std::copy_n(fake::instance().operations, 7, before);
        tally const done = testing::count([&] { run(make()); });
        using enum simulated::nccl_call;
        for (simulated::nccl_call const c : {broadcast, all_gather, send, receive})
          out.push_back(fake::instance().operations[int(c)] - before[int(c)]);
        // the same by the host; a run compares itself with its plan
        config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
        tally const host = testing::count([&] { run(make()); });
        config::set_cross_device_ops(cross_device_ops::automatic);
        out.push_back(done.copies == host.copies && done.bytes_moved == host.bytes_moved &&
                      done.sent == host.sent && done.received == host.received);
      };
      count([&] { return plan(into(m, a)); }), count([&] { return plan(into(m, h)); });
      count([&] { return plan(into(m, x)); }), count([&] { return plan(into(x, a)); });
      count([&] { return plan(into(b, x)); }), count([&] { return plan(into(h, x)); });
      count([&] { return plan(into(x, h)); });
      return out;
    };
    auto const ends = good_ends(layout, job);
    int const pieces = n == 2 ? 2 : 4;  // with rows: those of rank 0, or all
    for (int r = 0; r < ranks; ++r) {
      int const here = layout[std::size_t(r)], full = n == 2 && r > 0 ? 0 : here;
      moved const by_broadcast{here, 0, 0, 0},
          all = n == 24 ? moved{0, here, 0, 0} : moved{pieces * here, 0, 0, 0},
          scattered{0, 0, r == 0 ? pieces - 2 : 0, r == 0 ? 0 : full},
          gathered{0, 0, full * (ranks - 1), pieces - full}, by_host{0, 0, 0, 0};
      doubles want;
      for (moved const& k :
           {by_broadcast, by_broadcast, all, scattered, gathered, by_host, by_host})
        for (int const v : {k.broadcasts, k.all_gathers, k.sends, k.receives, 1}) want.push_back(v);
      INFO("rows ", n, ", rank ", r);
      CHECK(ends[std::size_t(r)].numbers == want);
    }
  }
}

TEST_CASE("a card that is not of the list on each rank is reached by the host") {
  auto const job = [] {
    using one = Ranks<GpuDevice<0>>;
    Tensor<double, Dextents<2>, GpuDevice<1>> a(uniform<double>(dextents<2>(9, 4), seed{1}));
    Tensor<double, Dextents<2>, Sharded<0, one>> x(a);
    Tensor<double, Dextents<2>, Mirrored<one>> m(a);  // by NCCL, after a copy to the card of rank 0
    Tensor<double, Dextents<2>, GpuDevice<1>> const b(x);
    doubles out;
    put(out, x), put(out, m), put(out, b);
    auto const& calls = fake::instance().operations;
    out.push_back(calls[int(simulated::nccl_call::send)]);
    out.push_back(calls[int(simulated::nccl_call::broadcast)]);
    return out;
  };
  doubles const one = good_ends({2}, job)[0].numbers;
  // on a rank with one GPU, /GPU:0 works for /GPU:1
  for (auto const& layout : {std::vector<int>{2, 2}, {2, 1}, {1, 2}})
    for (testing::rank_end const& e : good_ends(layout, job)) {
      REQUIRE(e.numbers.size() == one.size());
      CHECK(doubles(e.numbers.begin(), e.numbers.end() - 2) == doubles(one.begin(), one.end() - 2));
      CHECK(e.numbers.back() == 1);
    }
}

TEST_CASE("the log says that NCCL carries a move, or the host") {
  auto const job = [] {
    using copies = Tensor<double, Dextents<1>, Mirrored<over_all>>;
    using pieces = Tensor<double, Dextents<1>, Sharded<0, over_all>>;
    std::ostringstream lines;
    debugging::set_log_device_placement(true);
    debugging::log_to(lines);
    doubles out;
    auto const says = [&](std::string_view move, auto const& f) {
      lines.str("");
      f();
      std::string const text = lines.str();
      out.push_back(text.find(std::string(move)) != std::string::npos &&
                    text.find("NCCL of all ranks") != std::string::npos);
    };
    Tensor<double, Dextents<1>, GpuDevice<0>> a(uniform<double>(dextents<1>(8), seed{1}));
    pieces x(a);
    copies m(a);
    says("scatter", [&] { x = a; }), says("broadcast", [&] { m = a; });
    says("all_gather", [&] { m = x; }), says("gather", [&] { a = x; });
    Tensor<double, Dextents<1>> h(dextents<1>(8));
    says("gather", [&] { h = x; });
    debugging::set_log_sink(nullptr);
    return out;
  };
  for (testing::rank_end const& e : good_ends({1, 2}, job))
    CHECK(e.numbers == doubles{1, 1, 1, 1, 0});
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
  for (testing::rank_end const& e : testing::on_ranks(
           2,
           [] {
             if (ranks::rank() == 1)
               config::set_cross_device_ops(cross_device_ops::reduction_to_one_device);
             return moves<over_all, GpuDevice<0>>();
           },
           {.gpus = {1, 1}})) {
    INFO(e.error);
    CHECK(e.error.find("NCCL") != std::string::npos);
    CHECK(e.error.find("the ranks of this program differ") != std::string::npos);
  }
}

TEST_CASE("NCCL fails in a move: the error names it, and the other rank ends") {
  auto const job = [] {
    Tensor<double, Dextents<1>, Sharded<0, over_all>> const x(
        uniform<double>(dextents<1>(9), seed{1}));
    Tensor<double, Dextents<1>, Mirrored<over_all>> m(x);
    if (ranks::rank() == 0) fake::instance().mischief.fail_at = fake::instance().calls + 1;
    config::set_collective_timeout(5);
    m = x;
    return doubles{};
  };
  auto const ends = testing::on_ranks(2, job, {.gpus = {1, 1}});
  INFO(ends[0].error);
  CHECK(ends[0].error.starts_with("locus: all_gather over /GPU:0 and the cards of other ranks "
                                  "failed at /GPU:0: NCCL refused it"));
  INFO(ends[1].error);
  CHECK(ends[1].error.starts_with("locus: all_gather"));
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
  SUBCASE("of a move") { check(moves<over_all, GpuDevice<0>>); }
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

}  // namespace nccl_test
