// SPDX-License-Identifier: Apache-2.0
// Candidates of one group on one stream, in random order round by round, timed by events; a line of
// JSON for each, as bench/main.cpp writes them, for bench/tables.py.
#pragma once
#include <locus/cuda.cuh>
// the library comes first

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <locus/testing/count.hpp>

namespace bench {

inline void must(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

struct candidate {
  std::string name, role;  // locus, rival, limit
  double goal;             // its time / time of locus, at least; of a limit: locus' share of it
  std::function<void()> run;
  std::vector<double> seconds;
};

/// Does the same work in several ways. by_host: what the host pays for the calls, not the GPU.
struct group {
  std::string table, what, size;
  double bytes = 0, operations = 0;
  bool by_host = false;
  std::vector<candidate> all;

  template <class F>
  group& add(std::string name, std::string role, double goal, F f) {
    all.push_back({std::move(name), std::move(role), goal, std::move(f), {}});
    return *this;
  }
};

inline bool failed = false;

/// means: one call; refuses what fell back, was copied between devices or ran on the host
inline void try_out(group const& g, candidate const& c, cudaStream_t stream) {
  auto const copies = locus::runtime::executed.copies,
             fallbacks = locus::runtime::executed.fallbacks;
  auto const trips = __atomic_load_n(&locus::runtime::host_round_trips, __ATOMIC_RELAXED);
  c.run();
  must(cudaStreamSynchronize(stream), g.what.c_str());
  if (locus::runtime::executed.copies != copies ||
      locus::runtime::executed.fallbacks != fallbacks ||
      __atomic_load_n(&locus::runtime::host_round_trips, __ATOMIC_RELAXED) != trips) {
    std::fprintf(stderr, "%s, %s: %s fell back or copied: not measured\n", g.table.c_str(),
                 g.what.c_str(), c.name.c_str());
    failed = true;
  }
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

inline void run(group& g, cudaStream_t stream) {
  constexpr int rounds = 21;
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "an event"), must(cudaEventCreate(&end), "an event");
  auto time = [&](candidate& c, int calls) {
    auto const start = std::chrono::steady_clock::now();
    must(cudaEventRecord(begin, stream), "an event");
    for (int k = 0; k < calls; ++k) c.run();
    double const host =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    must(cudaEventRecord(end, stream), "an event"), must(cudaEventSynchronize(end), "an event");
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin, end), "an event");
    return (g.by_host ? host : double(milliseconds) * 1e-3) / calls;
  };
  std::vector<int> order, calls;
  for (candidate& c : g.all) {
    try_out(g, c, stream);
    order.push_back(int(order.size()));
    double const one = time(c, 3);  // about 3 ms a round
    calls.push_back(std::clamp(int(3e-3 / one), 1, 500));
  }
  std::mt19937 random(1);
  for (int r = 0; r < rounds; ++r) {
    std::shuffle(order.begin(), order.end(), random);
    for (int k : order)
      g.all[std::size_t(k)].seconds.push_back(time(g.all[std::size_t(k)], calls[std::size_t(k)]));
  }
  std::vector<double> const& own = g.all.front().seconds;  // locus
  for (candidate const& c : g.all) {
    std::vector<double> ratios;
    for (int r = 0; r < rounds; ++r)
      ratios.push_back(c.seconds[std::size_t(r)] / own[std::size_t(r)]);
    double const best = *std::min_element(c.seconds.begin(), c.seconds.end()),
                 own_best = *std::min_element(own.begin(), own.end());
    std::printf(
        "{\"table\": \"%s\", \"what\": \"%s\", \"size\": \"%s\", \"candidate\": \"%s\", \"role\": "
        "\"%s\", \"accuracy\": \"\", \"threads\": 1, \"goal\": %.4g, \"bytes\": %.8g, "
        "\"operations\": %.8g, \"median\": %.6g, \"best\": %.6g, \"ratio\": %.4g, \"low\": %.4g, "
        "\"high\": %.4g, \"ratio_of_best\": %.4g, \"rounds\": %d}\n",
        g.table.c_str(), g.what.c_str(), g.size.c_str(), c.name.c_str(), c.role.c_str(), c.goal,
        g.bytes, g.operations, median(c.seconds), best, median(ratios),
        *std::min_element(ratios.begin(), ratios.end()),
        *std::max_element(ratios.begin(), ratios.end()), best / own_best, rounds);
  }
  std::fflush(stdout);
  cudaEventDestroy(begin), cudaEventDestroy(end);
}

/// means: says what is wrong with a result; a benchmark of wrong numbers is none
inline void check(bool right, char const* what) {
  if (right) return;
  std::fprintf(stderr, "%s: wrong numbers\n", what);
  failed = true;
}

}  // namespace bench
