// SPDX-License-Identifier: Apache-2.0
// Ratios from Google Benchmark: candidates of one group run in random order, round by round, and a
// ratio is taken within each round.
#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace bench {

/// Collects every repetition. A name is group/candidate; the first candidate of a group is locus.
class ratio_reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const& runs) override {
    for (Run const& r : runs) {
      if (r.error_occurred) {
        std::fprintf(stderr, "%s: %s\n", r.benchmark_name().c_str(), r.error_message.c_str());
        failed_ = true;
      }
      if (r.run_type != Run::RT_Iteration || r.error_occurred) continue;
      std::string const name = r.run_name.function_name;
      double const seconds = r.real_accumulated_time / static_cast<double>(r.iterations);
      auto const bytes = r.counters.find("bytes"), flops = r.counters.find("flops");
      sample& s = samples_[name];
      s.seconds.push_back(seconds);
      if (bytes != r.counters.end()) s.bytes = bytes->second;
      if (flops != r.counters.end()) s.flops = flops->second;
    }
  }
  bool failed() const { return failed_; }

  struct row {
    std::string group, candidate;
    double seconds, rate, ratio, low, high;  // rate in GB/s or GF/s
    char const* unit;
  };
  /// ratio: time of the candidate / time of locus; above 1: slower than locus
  std::vector<row> rows(std::vector<std::string> const& names) const {
    std::vector<row> out;
    for (std::string const& name : names) {
      auto const at = samples_.find(name);
      if (at == samples_.end()) continue;
      std::string const group = name.substr(0, name.find('/'));
      auto const own = samples_.find(group + "/locus");
      sample const& s = at->second;
      row r{group, name.substr(group.size() + 1), median(s.seconds), 0, 1, 1, 1, ""};
      if (s.bytes > 0) r.rate = s.bytes / r.seconds / 1e9, r.unit = "GB/s";
      if (s.flops > 0) r.rate = s.flops / r.seconds / 1e9, r.unit = "GF/s";
      if (own != samples_.end()) {
        std::vector<double> ratios;
        std::size_t const n = std::min(s.seconds.size(), own->second.seconds.size());
        for (std::size_t i = 0; i < n; ++i) ratios.push_back(s.seconds[i] / own->second.seconds[i]);
        r.ratio = median(ratios);
        r.low = *std::min_element(ratios.begin(), ratios.end());
        r.high = *std::max_element(ratios.begin(), ratios.end());
      }
      out.push_back(r);
    }
    return out;
  }

 private:
  struct sample {
    std::vector<double> seconds;
    double bytes = 0, flops = 0;
  };
  static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    std::size_t const n = v.size();
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
  }
  std::map<std::string, sample> samples_;
  bool failed_ = false;
};

/// means: one group after the other; within a group, repetitions of its candidates in random order
inline void run_groups(int argc, char** argv, std::vector<std::string> const& names,
                       ratio_reporter& reporter) {
  std::vector<char*> args(argv, argv + argc);
  char interleaving[] = "--benchmark_enable_random_interleaving=true",
       repetitions[] = "--benchmark_repetitions=31", time[] = "--benchmark_min_time=0.02";
  args.insert(args.begin() + 1, {interleaving, repetitions, time});
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  std::string last;
  for (std::string const& name : names) {
    std::string const group = name.substr(0, name.find('/'));
    if (group == last) continue;
    last = group;
    std::fprintf(stderr, "%s ...\n", group.c_str());
    std::string pattern;
    for (char c : group + "/") {
      if (std::string("+*.()[]?").find(c) != std::string::npos) pattern += '\\';
      pattern += c;
    }
    benchmark::RunSpecifiedBenchmarks(&reporter, "^" + pattern);
  }
}

}  // namespace bench
