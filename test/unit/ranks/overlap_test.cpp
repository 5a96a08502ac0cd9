// SPDX-License-Identifier: Apache-2.0
// All-reduces between ranks that a thread carries while the program's thread computes: the same bits
// as without it, work beside them in the trace, errors that reach the program.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <locus/collective/rank_queue.hpp>
#include <locus/locus.hpp>
#include <locus/run/late_results.hpp>
#include <locus/tensor/ranks.hpp>
#include <locus/training.hpp>

#include "on_ranks.hpp"

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
      auto net = make_trainer<Mirrored<Ranks<CpuDevice>>>();
      examples const e;
      debugging::start_trace(here.path + "/trace.json");
      net.fit(e.x, e.y, {.epochs = 1, .verbose = 0, .batch_size = 16});
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

TEST_CASE("a rank that ends while others reduce beside their program: all say so") {
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
  auto const ends = testing::on_ranks(3, job, {.seconds = 30});
  CHECK(WEXITSTATUS(ends[1].status) == 7);
  for (std::size_t const r : {0u, 2u}) {
    CHECK(ends[r].status == 0);  // it ended by its exception
    CHECK(ends[r].error.find("rank 1 on this computer has ended") != std::string::npos);
  }
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
