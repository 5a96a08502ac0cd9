// SPDX-License-Identifier: Apache-2.0
// All-reduces between ranks that a thread carries while the program's thread computes: the same bits
// as without it, work beside them in the trace, errors that reach the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <worst_of.hpp>

#include <locus/collective/rank_queue.hpp>
#include <locus/locus.hpp>
#include <locus/run/late_results.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

namespace overlap_test {

using namespace rank_tests;

namespace {

/// LOCUS_OVERLAP_RANKS, for the ranks that begin in its scope
struct overlap {
  explicit overlap(bool on) { setenv("LOCUS_OVERLAP_RANKS", on ? "1" : "0", 1); }
  overlap(overlap const&) = delete;
  ~overlap() { unsetenv("LOCUS_OVERLAP_RANKS"); }
};

/// layers whose gradients have 128 KiB, 32 KiB, 128 KiB, 2 KiB and 8 bytes
template <class Devices>
auto make_trainer() {
  return nn::compile<Devices, double>(
      nn::Sequential{nn::Input<64>{}, nn::Dense<256>{nn::relu}, nn::Dense<16>{nn::relu},
                     nn::BatchNorm<nn::cross_replica>{}, nn::Dense<1024>{nn::tanh}, nn::Dense<1>{}},
      nn::ClipGlobalNorm{1., nn::Adam{}}, nn::MeanSquaredError{});
}
struct examples {
  Tensor<double, Extents<dyn, 64>> x = eval(uniform<double>(Extents<dyn, 64>(48), seed{1}));
  Tensor<double, Extents<dyn, 1>> y = eval(uniform<double>(Extents<dyn, 1>(48), seed{2}));
};

template <class Devices>
doubles losses_and_weights(reduction_order order) {
  config::set_reduction_order(order);
  auto net = make_trainer<Devices>();
  examples const e;
  doubles out = net.fit(e.x, e.y, {.epochs = 3, .verbose = 0, .batch_size = 16})["loss"];
  put(out, net.predict(e.x));
  return out;
}

/// A slice of a trace, as check_trace.py prints it.
struct slice_of_trace {
  std::string track, name;
  double begin = 0, end = 0;  // units: microseconds
};
std::vector<slice_of_trace> slices_of(std::string const& path) {
  std::string const here = __FILE__;
  std::string const tool = here.substr(0, here.rfind("unit/")) + "tools/check_trace.py";
  std::FILE* const out = popen(("python3 " + tool + " " + path).c_str(), "r");
  std::string text;
  for (int c; out && (c = std::fgetc(out)) != EOF;) text += char(c);
  CHECK((out && pclose(out) == 0));
  std::vector<slice_of_trace> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t const first = line.find(" | "), second = line.find(" | ", first + 3),
                      at = line.rfind(" | at ");
    if (first == std::string::npos || at == std::string::npos) continue;
    slice_of_trace one{line.substr(0, first), line.substr(first + 3, second - first - 3)};
    one.begin = std::stod(line.substr(at + 6));
    one.end = one.begin + std::stod(line.substr(second + 3));
    all.push_back(one);
  }
  return all;
}
/// kernels of the program's thread that begin while a reduction between ranks is under way
int kernels_beside(std::vector<slice_of_trace> const& all) {
  int n = 0;
  for (slice_of_trace const& r : all)
    for (slice_of_trace const& k : all)
      n += r.name == "all_reduce" && r.track.ends_with("CPU:0 communication") && k.name != r.name &&
           k.track == "host" && k.begin > r.begin && k.end < r.end;
  return n;
}

}  // namespace

TEST_CASE("all-reduces beside the backward pass: the bits without") {
  using All = Mirrored<Ranks<CpuDevice>>;
  for (reduction_order const order : {reduction_order::ranked, reduction_order::fast})
    for (int const ranks : {2, 3}) {
      auto const job = [&] { return losses_and_weights<All>(order); };
      CAPTURE(ranks);
      std::vector<testing::rank_end> with, without;
      {
        overlap const on(true);
        with = testing::on_ranks(ranks, job);
      }
      {
        overlap const off(false);
        without = testing::on_ranks(ranks, job);
      }
      for (std::size_t r = 0; r < with.size(); ++r) {
        CHECK(with[r].error == "");
        CHECK(with[r].numbers == without[r].numbers);
        CHECK(with[r].numbers.size() == 3 + 48);
      }
    }
}

TEST_CASE("a trace shows kernels while a reduction between ranks is under way") {
  own_folder const here;
  for (bool const on : {true, false}) {
    overlap const wanted(on);
    auto const job = [&] {
      auto net = nn::compile<Mirrored<Ranks<CpuDevice>>, double>(
          nn::Sequential{nn::Input<64>{}, nn::Dense<256>{nn::tanh}, nn::Dense<64>{nn::tanh},
                         nn::Dense<256>{nn::tanh}, nn::Dense<1>{}},
          nn::SGD{}, nn::MeanSquaredError{});
      Tensor<double, Extents<dyn, 64>> const x = uniform<double>(Extents<dyn, 64>(2048), seed{1});
      Tensor<double, Extents<dyn, 1>> const y = uniform<double>(Extents<dyn, 1>(2048), seed{2});
      debugging::start_trace(here.path + "/trace.json");
      net.fit(x, y, {.epochs = 1, .verbose = 0, .batch_size = 1024});
      debugging::stop_trace();
      return doubles{};
    };
    // each all-reduce of the carrier takes 20 ms, many times the time of a layer
    auto const ends = testing::on_ranks(4, job, {.delay = 0.02});
    for (int r = 0; r < 4; ++r) {
      CHECK(ends[std::size_t(r)].error == "");
      auto const all = slices_of(here.path + "/trace.json." + std::to_string(r));
      int reductions = 0;
      for (slice_of_trace const& s : all) reductions += s.name == "all_reduce";
      CHECK(reductions > 0);
      CHECK((kernels_beside(all) > 0) == on);
    }
  }
}

TEST_CASE("a rank that ends while another reduces beside its program: the other says so") {
  overlap const on(true);
  auto const job = [] {
    config::set_collective_timeout(2);
    auto net = make_trainer<Mirrored<Ranks<CpuDevice>>>();
    examples const e;
    struct ends_at_step_2 : nn::callback {
      void on_batch_end(nn::training&, std::int64_t step, nn::logs const&) override {
        if (step == 1 && ranks::rank() == 1) _exit(7);
      }
    } leaves;
    net.fit(e.x, e.y, {.epochs = 1, .callbacks = {&leaves}, .verbose = 0, .batch_size = 16});
    return doubles{};
  };
  auto const ends = testing::on_ranks(2, job, {.seconds = 30});
  CHECK(WEXITSTATUS(ends[1].status) == 7);
  CHECK(ends[0].status == 0);  // it ended by its exception
  CHECK(ends[0].error.find("rank 1 on this computer has ended") != std::string::npos);
}

TEST_CASE("an exception of the program leaves no reduction behind") {
  overlap const on(true);
  auto const job = [] {
    using All = Mirrored<Ranks<CpuDevice>>;
    constexpr std::int64_t n = 40'000;
    Tensor<double, Dextents<2>, Sharded<0, Ranks<CpuDevice>>> x(
        uniform<double>(dextents<2>(4, n), seed{1}));
    doubles out;
    for (int turn = 0; turn < 3; ++turn) {
      Tensor<double, Dextents<1>, All> total{dextents<1>(n)};
      internal::late_results sums;
      total = sum<0>(x * (turn + 1.));
      if (turn == 1) continue;  // as an exception leaves the scope
      Tensor<double, Dextents<1>, All> const half = total * 0.5;  // waits
      sums.finish();
      out.push_back(fetch(sum(half)));
      out.push_back(runtime::has_arrivals());
    }
    return out;
  };
  auto const ends = testing::on_ranks(2, job, {.delay = 0.02});
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    REQUIRE(e.numbers.size() == 4);
    CHECK(e.numbers[2] == doctest::Approx(3 * e.numbers[0]).epsilon(1e-14));
    CHECK(e.numbers[1] == 0);
    CHECK(e.numbers[3] == 0);
  }
}

TEST_CASE(
    "the queue between ranks: jobs in order, and the first error for whoever waits behind it") {
  internal::rank_queue q;
  std::vector<int> done;
  bool go = false;
  std::uint64_t const first = q.push([&] {
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) std::this_thread::yield();
    done.push_back(1);
  });
  std::uint64_t const second = q.push([&] { throw bad_file("locus: the second"); });
  std::uint64_t const third = q.push([&] {
    done.push_back(3);
    throw bad_file("locus: the third");
  });
  CHECK_FALSE(q.is_idle());  // the first waits for this thread
  __atomic_store_n(&go, true, __ATOMIC_RELEASE);
  q.wait(first);
  CHECK(done[0] == 1);
  CHECK_THROWS_WITH_AS(q.wait(second), "locus: the second", bad_file);
  CHECK_THROWS_WITH_AS(q.wait(third), "locus: the second", bad_file);
  CHECK(done == std::vector<int>{1, 3});
  CHECK_THROWS_AS(q.finish(), bad_file);
  CHECK(q.is_idle());
  q.wait(first);  // an earlier one had no error
}

TEST_CASE("a bucket is one collective: large values alone, small ones as one array") {
  // the second rank has two simulated GPUs: its terms are two, and come to the host first
  auto const job = [] {
    config::set_reduction_order(reduction_order::ranked);
    using All = Mirrored<Ranks<AllGpus>>;
    using Rows = Sharded<0, Ranks<AllGpus>>;
    Tensor<double, Dextents<2>, Rows> const x = uniform<double>(dextents<2>(12, 7), seed{1}),
                                            y = uniform<double>(dextents<2>(12, 9000), seed{2}),
                                            z = uniform<double>(dextents<2>(12, 100), seed{3});
    Tensor<double, Dextents<1>, All> a(dextents<1>(7)), b(dextents<1>(9000)), c(dextents<1>(100));
    std::uint64_t const before = internal::point_now().number;
    run(into(a, sum<0>(x)), into(b, sum<0>(y)), into(c, sum<0>(z)));
    doubles out{double(internal::point_now().number - before)};
    put(out, a), put(out, b), put(out, c);
    return out;
  };
  auto const ends = testing::on_ranks(2, job, {.gpus = {0, 2}});
  auto const in_order = [] {  // three replicas of four rows each
    doubles out{1};
    for (std::int64_t const n : {7, 9000, 100}) {
      auto const seed_of = seed{n == 7 ? 1u : n == 9000 ? 2u : 3u};
      Tensor<double, Dextents<2>> const m = uniform<double>(dextents<2>(12, n), seed_of);
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int r = 0; r < 3; ++r) {
          double piece = 0;
          for (int i = 0; i < 4; ++i) piece += m(4 * r + i, j);
          sum = r == 0 ? piece : sum + piece;
        }
        out.push_back(sum);
      }
    }
    return out;
  };
  doubles const want = testing::on_ranks(1, in_order)[0].numbers;
  REQUIRE(want.size() == 1 + 7 + 9000 + 100);
  for (testing::rank_end const& e : ends) {
    CHECK(e.error == "");
    REQUIRE(e.numbers.size() == want.size());
    CHECK(e.numbers[0] == 1);
    double worst = 0;
    for (std::size_t i = 1; i < want.size(); ++i)
      worst = worst_of(worst, std::abs(e.numbers[i] - want[i]));
    CHECK(worst < 1e-14);
    CHECK(e.numbers == ends[0].numbers);
  }
}

namespace {

/// two small sums of one bucket, of whole numbers: exact in any order
template <class T>
doubles two_sums() {
  using All = Mirrored<Ranks<AllGpus>>;
  Tensor<T, Dextents<2>, Sharded<0, Ranks<AllGpus>>> const
      x = cast<T>(floor(4. * uniform<double>(dextents<2>(48, 700), seed{1}))),
      y = cast<T>(floor(4. * uniform<double>(dextents<2>(48, 1100), seed{2})));
  Tensor<T, Dextents<1>, All> a(dextents<1>(700)), b(dextents<1>(1100));
  run(into(a, sum<0>(x)), into(b, sum<0>(y)));
  doubles out;
  put(out, a), put(out, b);
  return out;
}

}  // namespace

TEST_CASE("small sums of several replicas of a rank travel as one array, of each type") {
  doubles const want = testing::on_ranks(1, two_sums<double>)[0].numbers;  // one replica
  for (reduction_order const order : {reduction_order::fast, reduction_order::ranked})
    for (std::vector<int> const& gpus : {std::vector<int>{0, 2}, {0, 8}, {8, 8}}) {
      auto const job = [&] {
        config::set_reduction_order(order);
        doubles out = two_sums<float>();
        for (doubles const& more : {two_sums<double>(), two_sums<half>(), two_sums<bfloat16>()})
          out.insert(out.end(), more.begin(), more.end());
        return out;
      };
      for (testing::rank_end const& e : testing::on_ranks(2, job, {.gpus = gpus})) {
        CHECK(e.error == "");
        REQUIRE(want.size() == 1800);
        REQUIRE(e.numbers.size() == 4 * want.size());
        int wrong = 0;
        for (std::size_t i = 0; i < e.numbers.size(); ++i)
          wrong += e.numbers[i] != want[i % want.size()];
        CHECK(wrong == 0);
      }
    }
}

}  // namespace overlap_test
