// SPDX-License-Identifier: Apache-2.0
// Groups of candidates that do the same work: locus, its rivals, and the machine's own limit. Google
// Benchmark runs the candidates of a group in random order, round by round, and a ratio is taken
// within each round. A group exists only while it runs, so that each has the memory to itself.
#pragma once
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>

namespace bench {

enum class role { locus, rival, limit };

/// One way to do the work of a group.
struct candidate {
  std::string name;
  role is;
  std::function<void()> run;
  double goal = 0;       // of a rival: its time / time of locus, at least
  std::string accuracy;  // "max 1.3 ulp"; empty: not measured
};

/// How the results of candidates are compared; none where own is empty.
struct comparison {
  double tolerance = 0;
  std::function<std::vector<double>()> own, theirs;
  std::function<void()> begin;
};

/// means: a row of a table: candidates that do the same work
/// units: bytes and operations of one run; 0: not counted
class group {
 public:
  group(std::string table, std::string what, std::string size)
      : table(std::move(table)), what(std::move(what)), size(std::move(size)) {}

  /// what is measured; f() is one run and is called once before, where it must neither fall back nor
  /// copy between devices
  template <class F>
  void locus(F f, std::string accuracy = "") {
    candidates.push_back({"locus", role::locus, std::move(f), 0, std::move(accuracy)});
  }
  /// a rival whose time over that of locus should be `goal` or more; 0: for information
  template <class F>
  void rival(std::string name, double goal, F f, std::string accuracy = "") {
    candidates.push_back({std::move(name), role::rival, std::move(f), goal, std::move(accuracy)});
  }
  /// the least that the machine needs: the same bytes (or operations) without the work; locus' share
  /// of it should be `goal` or more
  template <class F>
  void limit(std::string name, double goal, F f) {
    candidates.push_back({std::move(name), role::limit, std::move(f), goal, ""});
  }
  /// what a run of locus leaves, and what a run of a rival leaves: each rival runs once before anything
  /// is timed, and its largest difference is to be at most `tolerance` times the largest value.
  /// begin() makes the data of both equal before each of these runs
  void results(
      double tolerance, std::function<std::vector<double>()> own,
      std::function<std::vector<double>()> theirs, std::function<void()> begin = [] {}) {
    compared = {tolerance, std::move(own), std::move(theirs), std::move(begin)};
  }
  void bytes(double n) { bytes_per_run = n; }
  void operations(double n) { operations_per_run = n; }
  void threads(int n) { thread_count = n; }

  std::string table, what, size;
  double bytes_per_run = 0, operations_per_run = 0;
  int thread_count = 1;
  std::vector<candidate> candidates;
  comparison compared;
};

/// a function that fills a group whose table, work and size are given
struct registered_group {
  std::string table, what, size;
  std::function<void(group&)> fill;
};
inline std::vector<registered_group>& registry() {
  static std::vector<registered_group> all;
  return all;
}
/// means: registers a group; fill(g) allocates its data and adds its candidates when it is its turn
inline void add(std::string table, std::string what, std::string size,
                std::function<void(group&)> fill) {
  registry().push_back({std::move(table), std::move(what), std::move(size), std::move(fill)});
}

/// A file of benchmarks: `static bench::file const groups([] { bench::add(...); });`
struct file {
  template <class F>
  explicit file(F fill) {
    fill();
  }
};

/// bytes of one array for each level of the memory
struct level {
  char const* name;
  std::int64_t bytes;
};
inline constexpr level levels[] = {
    {"L1", 4 << 10}, {"L2", 256 << 10}, {"L3", 8 << 20}, {"DRAM", 512 << 20}};

}  // namespace bench
