// SPDX-License-Identifier: Apache-2.0
// Runs the groups of one program and prints a line of JSON for each candidate.
//     host_maps [--filter=TEXT] [options of Google Benchmark]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#ifdef _OPENMP
#include <omp.h>
#endif
#if BENCH_KOKKOS
#include <Kokkos_Core.hpp>
#endif

#include <bench/harness.hpp>

namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  std::size_t const n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/// means: seconds of every repetition of every candidate
class collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const& runs) override {
    for (Run const& r : runs) {
      if (r.error_occurred) failure = r.benchmark_name() + ": " + r.error_message;
      if (r.run_type != Run::RT_Iteration || r.error_occurred) continue;
      seconds[r.run_name.function_name].push_back(r.real_accumulated_time /
                                                  static_cast<double>(r.iterations));
    }
  }
  std::map<std::string, std::vector<double>> seconds;
  std::string failure;
};

void print_text(char const* key, std::string const& text) {
  std::printf("\"%s\": \"", key);
  for (char c : text) std::printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
  std::printf("\", ");
}

/// one line for each candidate: its times, and its ratio to locus round by round
void print(bench::group const& g, collector const& found) {
  for (bench::candidate const& c : g.candidates) {
    auto const at = found.seconds.find(c.name);
    if (at == found.seconds.end()) continue;
    auto own = found.seconds.find("locus");
    if (own == found.seconds.end()) own = at;  // a limit alone
    std::vector<double> ratios;
    std::size_t const rounds = std::min(at->second.size(), own->second.size());
    for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(at->second[i] / own->second[i]);
    double const best = *std::min_element(at->second.begin(), at->second.end());
    double const own_best = *std::min_element(own->second.begin(), own->second.end());
    std::printf("{");
    print_text("table", g.table), print_text("what", g.what), print_text("size", g.size);
    print_text("candidate", c.name), print_text("accuracy", c.accuracy);
    print_text("role", c.is == bench::role::locus   ? "locus"
                       : c.is == bench::role::rival ? "rival"
                                                    : "limit");
    std::printf("\"threads\": %d, \"goal\": %.4g, \"bytes\": %.8g, \"operations\": %.8g, "
                "\"median\": %.6g, \"best\": %.6g, \"ratio\": %.4g, \"low\": %.4g, \"high\": %.4g, "
                "\"ratio_of_best\": %.4g, \"rounds\": %zu}\n",
                g.thread_count, c.goal, g.bytes_per_run, g.operations_per_run, median(at->second),
                best, median(ratios), *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()), best / own_best, rounds);
  }
  std::fflush(stdout);
}

/// means: the first rival whose results are not those of locus, and how far they are off; else empty
std::string find_difference(bench::group const& g) {
  bench::comparison const& c = g.compared;
  if (!c.own) return {};
  std::vector<double> own;
  for (bench::candidate const& one : g.candidates) {
    if (one.is == bench::role::limit) continue;
    c.begin();
    one.run();
    if (one.is == bench::role::locus) {
      own = c.own();
      continue;
    }
    std::vector<double> const theirs = c.theirs();
    double most = 0, worst = own.size() == theirs.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(own.size(), theirs.size()); ++i) {
      most = std::max(most, std::fabs(theirs[i]));
      double const d = std::fabs(own[i] - theirs[i]);
      if (worst == worst && !(d <= worst)) worst = d;  // NaN stays
    }
    if (!(worst <= c.tolerance * most))
      return one.name + " has other results: difference " + std::to_string(worst) + ", largest " +
             std::to_string(most);
  }
  return {};
}

/// false: it must not be measured, the reason is on stderr
bool run(bench::registered_group const& r) {
  bench::group g(r.table, r.what, r.size);
  r.fill(g);
  locus::config::set_intra_op_parallelism_threads(g.thread_count);
#ifdef _OPENMP
  omp_set_num_threads(g.thread_count);  // of the rivals
#endif
  if (std::string const other = find_difference(g); !other.empty()) {
    std::fprintf(stderr, "%s, %s, %s: %s\n", r.table.c_str(), r.what.c_str(), r.size.c_str(),
                 other.c_str());
    return false;
  }
  for (bench::candidate& c : g.candidates) {
    benchmark::RegisterBenchmark(c.name.c_str(), [&c](benchmark::State& state) {
      locus::tally const seen = locus::testing::count([&] { c.run(); });
      if (c.is == bench::role::locus && (seen.fallbacks || seen.copies))
        return state.SkipWithError("something fell back or was copied");
      for (auto _ : state) {
        c.run();
        benchmark::ClobberMemory();
      }
    })->UseRealTime();
  }
  collector found;
  benchmark::RunSpecifiedBenchmarks(&found, ".*");
  benchmark::ClearRegisteredBenchmarks();
  if (!found.failure.empty()) {
    std::fprintf(stderr, "%s, %s, %s: %s\n", r.table.c_str(), r.what.c_str(), r.size.c_str(),
                 found.failure.c_str());
    return false;
  }
  print(g, found);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
#if BENCH_KOKKOS
  Kokkos::ScopeGuard const kokkos(argc, argv);
#endif
  std::vector<char*> args{argv[0]};
  std::string filter;
  char interleaving[] = "--benchmark_enable_random_interleaving=true",
       repetitions[] = "--benchmark_repetitions=21", time[] = "--benchmark_min_time=0.005";
  args.insert(args.end(), {interleaving, repetitions, time});
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--filter=", 9) == 0)
      filter = argv[i] + 9;
    else
      args.push_back(argv[i]);
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  locus::debugging::set_log_device_placement(false);
  bool good = true;
  std::size_t done = 0;
  for (bench::registered_group const& r : bench::registry()) {
    ++done;
    std::string const name = r.table + ", " + r.what + ", " + r.size;
    if (name.find(filter) == std::string::npos) continue;
    std::fprintf(stderr, "[%zu/%zu] %s\n", done, bench::registry().size(), name.c_str());
    good = run(r) && good;
  }
  return good ? 0 : 1;
}
