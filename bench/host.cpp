// SPDX-License-Identifier: Apache-2.0
// The host against the loops and libraries that it must not be slower than.
#include <cblas.h>

#include <cmath>
#include <cstring>
#include <memory>

#include <locus/locus.hpp>
#include <locus/testing/count.hpp>

#include "interleave.hpp"
#include "rivals.hpp"

using namespace locus;

namespace {

std::vector<std::string> names;

/// one candidate: f() once per iteration, after one call that warms up and is counted
template <class F>
void add(std::string const& name, double bytes, double flops, F f) {
  names.push_back(name);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 tally const seen = testing::count([&] { f(); });
                                 if (seen.fallbacks || seen.copies)
                                   return state.SkipWithError("something fell back or was copied");
                                 for (auto _ : state) f();
                                 state.counters["bytes"] = bytes;
                                 state.counters["flops"] = flops;
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_triad(std::int64_t n, int threads) {
  auto const x = std::make_shared<Tensor<float, Dextents<1>>>(uniform<float>(dextents<1>{n}, 1));
  auto const z = std::make_shared<Tensor<float, Dextents<1>>>(uniform<float>(dextents<1>{n}, 2));
  auto const y = std::make_shared<Tensor<float, Dextents<1>>>(zeros<float>(dextents<1>{n}));
  std::string const mib = std::to_string(n * 4 >> 20) + " MiB, " + std::to_string(threads) + " T";
  double const bytes = 4.0 * static_cast<double>(n);
  std::size_t const count = static_cast<std::size_t>(n);
  auto use = [=](auto f) {
    return [=] {
      config::set_intra_op_parallelism_threads(threads);
      f();
      benchmark::ClobberMemory();
    };
  };
  std::string group = "y = a x + b, " + mib;
  add(group + "/locus", 2 * bytes, 0, use([=] { *y = 2.5f * *x + 1.5f; }));
  add(group + "/loop, regular stores", 2 * bytes, 0, use([=] {
        rivals::parts(count, threads, [=](std::size_t p, std::size_t q) {
          rivals::triad(y->data() + p, x->data() + p, 2.5f, 1.5f, q - p);
        });
      }));
  group = "y = a x + z, " + mib;
  add(group + "/locus", 3 * bytes, 0, use([=] { *y = 2.5f * *x + *z; }));
  add(group + "/loop, regular stores", 3 * bytes, 0, use([=] {
        rivals::parts(count, threads, [=](std::size_t p, std::size_t q) {
          rivals::stream(y->data() + p, x->data() + p, z->data() + p, 2.5f, q - p);
        });
      }));
  group = "sum(x), " + mib;
  add(group + "/locus", bytes, 0, use([=] {
        float s = fetch(on<CpuDevice>(sum(*x)));
        benchmark::DoNotOptimize(s);
      }));
  add(group + "/loop, 8 accumulators", bytes, 0, use([=] {
        float part[64]{};
        rivals::parts(count, threads, [&](std::size_t p, std::size_t q) {
          part[p ? omp_get_thread_num() : 0] = rivals::sum(x->data() + p, q - p);
        });
        float s = 0;
        for (float v : part) s += v;
        benchmark::DoNotOptimize(s);
      }));
}

void add_matmul(std::int64_t n) {
  auto const a = std::make_shared<Tensor<float, Dextents<2>>>(uniform<float>(dextents<2>{n, n}, 3));
  auto const b = std::make_shared<Tensor<float, Dextents<2>>>(uniform<float>(dextents<2>{n, n}, 4));
  auto const c = std::make_shared<Tensor<float, Dextents<2>>>(zeros<float>(dextents<2>{n, n}));
  std::string const group = "matmul " + std::to_string(n);
  double const flops = 2.0 * std::pow(static_cast<double>(n), 3);
  add(group + "/locus", 0, flops, [=] { *c = matmul(*a, *b); });
  add(group + "/cblas_sgemm", 0, flops, [=] {
    int const m = static_cast<int>(n);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, a->data(), m, b->data(), m,
                0, c->data(), m);
  });
}

void add_small() {
  static Tensor<float, Extents<16>> x(uniform<float>(Extents<16>{}, 5)),
      y(zeros<float>(Extents<16>{}));
  add("16 floats, y = a x + b/locus", 0, 0, [] {
    y = 2.5f * x + 1.5f;
    benchmark::ClobberMemory();
  });
  add("16 floats, y = a x + b/loop", 0, 0, [] {
    rivals::triad(y.data(), x.data(), 2.5f, 1.5f, 16);
    benchmark::ClobberMemory();
  });
}

}  // namespace

int main(int argc, char** argv) {
  debugging::set_log_device_placement(false);
  add_triad(std::int64_t(1) << 24, 1);
  add_triad(std::int64_t(1) << 26, 1);
  add_triad(std::int64_t(1) << 24, 2);
  add_triad(std::int64_t(1) << 26, 2);
  add_matmul(512);
  add_matmul(2048);
  add_small();
  bench::ratio_reporter reporter;
  bench::run_groups(argc, argv, names, reporter);
  if (reporter.failed()) return 1;
  std::printf("| what | candidate | median | rate | time / locus: median (min..max) "
              "|\n|---|---|---|---|---|\n");
  for (auto const& r : reporter.rows(names))
    std::printf("| %s | %s | %.3g us | %.1f %s | %.3f (%.2f..%.2f) |\n", r.group.c_str(),
                r.candidate.c_str(), r.seconds * 1e6, r.rate, r.unit, r.ratio, r.low, r.high);
}
