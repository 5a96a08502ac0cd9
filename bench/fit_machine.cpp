// SPDX-License-Identifier: Apache-2.0
// Measures this host for predictions, and writes the lines of a machine (locus/predict/file.hpp) to stdout.
//     mpirun -n 1 fit_machine               one rank alone: speeds of kernels, bandwidths, costs of a plan
//     mpirun -n N fit_machine SECONDS BYTES N ranks at once: how much slower they are than one, whose step took
//                                           SECONDS and whose memory gave BYTES a second, and their all-reduces
//                                           as locus calls them
//     fit_machine sockets N                 the all-reduces of N ranks that sockets join (locus/testing/ranks.hpp)
// bench/fit_machine.sh runs the first two and joins the lines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <locus/mpi.hpp>
#include <locus/predict.hpp>
#include <locus/testing/ranks.hpp>

#include "networks.hpp"
#include "rank_clock.hpp"

using namespace locus;

namespace {

std::string source() {
  std::time_t const now = std::time(nullptr);
  char day[16];
  std::strftime(day, sizeof day, "%Y-%m-%d", std::localtime(&now));
  return std::string("measured ") + day;
}
void line(std::string const& what, std::string const& of, double value) {
  if (ranks::rank() == 0)
    std::printf("%s,%s,%.6g,%s\n", what.c_str(), of.c_str(), value, source().c_str());
}

template <class T>
double product_rate(std::int64_t n) {
  Tensor<T, Dextents<2>> a(uniform<T>(dextents<2>(n, n), seed{1})), b(a), c(a);
  return 2. * double(n) * double(n) * double(n) / seconds_of(11, 5, [&] { c = matmul(a, b); });
}
/// units: bytes a second of y = 2 x + y, whose arrays have so many bytes together
double bandwidth(double bytes) {
  auto const n = static_cast<std::int64_t>(bytes / 8);
  Tensor<float, Dextents<1>> x(uniform<float>(dextents<1>(n), seed{1})), y(x);
  int const repeats = int(std::clamp(64e6 / bytes, 1., 1000.));
  return 12. * double(n) / seconds_of(11, repeats, [&] { y = 2.f * x + y; });
}
/// units: seconds of a statement with a kernel that only reads, whose array has so many bytes
double seconds_of_sum(double bytes) {
  auto const n = static_cast<std::int64_t>(bytes / 4);
  Tensor<float, Dextents<1>> x(uniform<float>(dextents<1>(n), seed{1}));
  int const repeats = int(std::clamp(64e6 / bytes, 1., 1000.));
  return seconds_of(11, repeats, [&] { static_cast<void>(fetch(sum(x))); });
}

/// The time of each plan of a step, and what the plan does: a listener between two plans.
class timed_plans : public locus::internal::plan_listener {
 public:
  struct of_kind {
    double operations = 0, seconds = 0;
  };
  void begin() { last_ = wall::now(), at_ = 0; }
  void ran(plan_run const& run) override {
    double const t = since(last_);
    std::vector<step> steps(run.plan.steps.begin(), run.plan.steps.end());
    std::vector<transfer> moved(run.plan.transfers.begin(), run.plan.transfers.end());
    plan_view p = run.plan;
    p.steps.first = steps.data(), p.transfers.first = moved.data();
    std::vector<step_part> parts(std::size_t(p.actions.count) + 1);
    locus::internal::step_counter counter(p, run.extents);
    int const count = counter.run(parts.data());
    if (at_ == times_.size()) times_.emplace_back(), parts_.push_back({});
    parts_[at_].assign(parts.begin(), parts.begin() + count);
    times_[at_++].push_back(t);
    last_ = wall::now();
  }
  /// means: adds the plans of which one kernel makes nearly all operations
  void sum(std::map<std::string, of_kind>& to, double run_seconds) const {
    for (std::size_t k = 0; k < times_.size(); ++k) {
      step_part const* most = nullptr;
      double all = 0;
      for (step_part const& p : parts_[k]) {
        all += p.operations.at(1);
        if (!most || p.operations.at(1) > most->operations.at(1)) most = &p;
      }
      if (!most || most->operations.at(1) < 0.9 * all || most->operations.at(1) < 1e4) continue;
      double const t = median(times_[k]) - run_seconds;
      if (t <= 0) continue;
      of_kind& kind = to[std::string(most->name)];
      kind.operations += most->operations.at(1), kind.seconds += t;
    }
  }
  double plans() const { return double(times_.size()); }

 private:
  wall::time_point last_;
  std::size_t at_ = 0;
  std::vector<std::vector<double>> times_;
  std::vector<std::vector<step_part>> parts_;
};

using One = Mirrored<Ranks<CpuDevice>>;
using Here = Mirrored<CpuDevice>;

/// units: seconds of a step of a network whose work is next to nothing, over the plans that it runs
double seconds_of_a_run() {
  auto trainer = nn::compile<One>(nn::Sequential{nn::Input<8>{}, nn::Dense<8>{nn::relu},
                                                 nn::Dense<8>{nn::relu}, nn::Dense<2>{}},
                                  nn::Adam{}, networks::cross_entropy);
  auto const x = networks::images<One, 8>(8);
  auto const y =
      Tensor<std::uint8_t, Dextents<1>, rows_over<One>>(zeros<std::uint8_t>(dextents<1>(8)));
  auto const once = [&] { static_cast<void>(trainer.train_on_batch(x, y)); };
  once();
  double plans = 0;
  {
    timed_plans watch;
    watch.begin(), once();
    plans = watch.plans();
  }
  return seconds_of(21, 50, once) / plans;
}

/// means: the step whose time tells how much slower ranks are that share a host
double seconds_of_steps() {
  double all = 0;
  networks::each_for_calibration<Here>(
      [&](char const*, auto trainer, auto const& x, auto const& y) {
        all += seconds_of(15, 5, [&] { static_cast<void>(trainer.train_on_batch(x, y)); });
      });
  return all;
}

void one_rank() {
  if (ranks::rank() == 0) std::printf("overlaps,,0,\ngroups,,0,\n");
  line("float_operations_per_second", "", product_rate<float>(512));
  line("double_operations_per_second", "", product_rate<double>(384));
  double const near = bandwidth(4 << 20), far = bandwidth(256 << 20);
  double fits = 4 << 20;
  while (fits < (64 << 20) && bandwidth(fits * 2) > 0.8 * near) fits *= 2;
  line("bytes_per_second", "", far);
  line("near_bytes_per_second", "", near);
  line("near_bytes", "", fits);
  double full = fits * 2;
  while (full < (128 << 20) && bandwidth(full) > 1.25 * far) full *= 2;
  line("far_bytes", "", full);
  double const of_statement = seconds_of_sum(64);  // its launch and its run, which the law adds
  for (double bytes :
       {256e3, 1e6, 4e6, 6e6, 8e6, 11e6, 16e6, 23e6, 32e6, 45e6, 64e6, 90e6, 128e6, 256e6})
    line("read", std::to_string(int(bytes)), seconds_of_sum(bytes) - of_statement);
  Tensor<float, Dextents<1>> x(zeros<float>(dextents<1>(16))), y(x);
  line("launch_seconds", "", seconds_of(21, 1000, [&] { y = 2.f * x + y; }));
  double const run = seconds_of_a_run();
  line("run_seconds", "", run);
  std::map<std::string, timed_plans::of_kind> kinds;
  networks::each_for_calibration<One>([&](char const*, auto trainer, auto const& a, auto const& b) {
    auto const once = [&] { static_cast<void>(trainer.train_on_batch(a, b)); };
    for (int k = 0; k < 3; ++k) once();
    timed_plans watch;
    for (int k = 0; k < 31; ++k) watch.begin(), once();
    watch.sum(kinds, run);
  });
  for (auto const& [name, k] : kinds)
    if (name != "matmul" && name.substr(0, 6) != "update" && name.find('.') == std::string::npos)
      line("kernel", name, k.operations / k.seconds);
  double const steps = seconds_of_steps();
  line("slowdown", "1", 1);
  if (ranks::rank() == 0) std::printf("# seconds of steps: %.6g\n", steps);
}

template <class T>
void all_reduces(runtime::nccl_type type) {
  int const n = ranks::count();
  for (double bytes : {64., 1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 4e6, 16e6}) {
    // each call takes other memory, as in a step, whose gradients have left the caches
    auto const count = std::int64_t(bytes) / std::int64_t(sizeof(T));
    auto const others = std::int64_t(std::clamp(64e6 / bytes, 2., 64.));
    std::vector<T> values(std::size_t(count * others), T(1));
    std::int64_t next = 0;
    auto const once = [&] {
      locus::internal::host_reduction one;
      auto& [j, terms] = one;
      j.terms[0] = j.outs[0] = terms.terms[0] = terms.outs[0] = values.data() + count * next;
      j.count = terms.count = count, j.element_bytes = sizeof(T), j.type = type;
      terms.term_count = terms.out_count = 1;
      locus::internal::fold_over_ranks(&one, 1, reduction_order::fast, {"all_reduce"});
      next = (next + 1) % others;
    };
    int const repeats = int(std::clamp(4e6 / bytes, 2., 100.));
    double const t = seconds_of(21, repeats, once);
    line("reduce", std::to_string(n) + ":" + std::to_string(int(bytes)), t);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "sockets") {
    for (auto const& end : testing::on_ranks(std::atoi(argv[2]), [] {
           all_reduces<double>(runtime::nccl_type::float64);  // sockets add no other type
           std::fflush(stdout);
           return std::vector<double>{};
         }))
      if (!end.is_good()) return std::fprintf(stderr, "%s\n", end.error.c_str()), 1;
    return 0;
  }
  mpi::world const world(argc, argv);
  if (world.size() == 1)
    one_rank();
  else if (argc > 2) {
    std::string const n = std::to_string(ranks::count());
    line("slowdown", n, seconds_of_steps() / std::atof(argv[1]));
    line("memory_slowdown", n, std::atof(argv[2]) / bandwidth(256 << 20));
    all_reduces<float>(runtime::nccl_type::float32);
  } else
    std::fprintf(stderr, "several ranks need what one measured\n");
}
