// SPDX-License-Identifier: Apache-2.0
// Many host threads: as with standard containers, different tensors are for different threads, and
// one tensor for any number of readers. Also compiled alone under ThreadSanitizer, without OpenMP.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <atomic>
#include <on_backends.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <locus/config/listing.hpp>
#include <locus/tensor/collective.hpp>

using namespace locus;

namespace {

using First = GpuDevice<0>;
using Second = GpuDevice<1>;
using Rows = Sharded<0, First, Second>;
using Line = Dextents<1>;
template <class Where>
using Vector = Tensor<float, Line, Where>;

/// means: what a thread does wrong, as text: doctest's checks are for the main thread
class complaints {
 public:
  template <class T>
  void expect(std::string const& what, T const& is, T const& want) {
    if (is == want) return;
    lock_guard const hold(lock_);
    ++count_;
    if (first_.empty()) first_ = what + ": " + std::to_string(is) + ", not " + std::to_string(want);
  }
  void add(std::string const& what) {
    lock_guard const hold(lock_);
    ++count_;
    if (first_.empty()) first_ = what;
  }
  std::string const& first() const { return first_; }

 private:
  mutex lock_;
  std::string first_;
  int count_ = 0;
};

/// f(k) in threads of their own, all from the same moment on
template <class F>
void in_threads(int count, complaints& wrong, F&& f) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k)
    threads.emplace_back([&, k] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      try {
        f(k);
      } catch (std::exception const& e) {
        wrong.add(e.what());
      }
    });
  for (std::thread& t : threads) t.join();
}

struct Throws {
  static constexpr auto name = "throws";
  static constexpr auto kernels = on_both;
  float operator()(float) const { throw std::runtime_error("a kernel"); }
};

/// y = 2 x + y, over and over, on tensors of this thread alone; n is not divisible by two
template <class Where>
void work_on(int number, complaints& wrong, int rounds = 6) {
  std::int64_t const n = 65 + number;
  Vector<Where> x(n), y(n);
  x = full<float>(Line(n), float(number + 1));
  y = full<float>(Line(n), 0.f);
  tally const done = testing::count([&] {
    for (int i = 0; i < rounds; ++i) y = 2.f * x + y;
  });
  wrong.expect("launches counted by thread " + std::to_string(number), done.launches,
               std::int64_t(rounds));
  float const each = 2.f * float(rounds) * float(number + 1);
  wrong.expect("the sum of thread " + std::to_string(number), fetch(sum(y)), each * float(n));
  auto const host = to<CpuDevice>(y);
  for (std::int64_t i = 0; i < n; ++i)
    if (host(i) != each) return wrong.add("an element of thread " + std::to_string(number));
  Vector<Where> moved = std::move(y), copied = moved;
  wrong.expect("a copy", fetch(sum(copied)), each * float(n));
}
void work_somewhere(int number, complaints& wrong) {
  switch (number % 4) {
  case 0: return work_on<First>(number, wrong);
  case 1: return work_on<Second>(number, wrong);
  case 2: return work_on<CpuDevice>(number, wrong);
  default: return work_on<Rows>(number, wrong);
  }
}

/// sums over three replicas, products, copies between devices, collectives by hand
void sum_over_replicas(int number, complaints& wrong, int rounds = 12) {
  using Third = GpuDevice<2>;
  using Copies = Mirrored<First, Second, Third>;
  Tensor<float, Dextents<2>, Sharded<0, First, Second, Third>> const x(
      ones<float>(dextents<2>(8, 5)));
  Tensor<float, Extents<5>, Copies> w(zeros<float>(Extents<5>{}));
  Vector<CpuDevice> const host = full<float>(Line(5), float(number));
  Tensor<float, Extents<4, 4>, First> const a(ones<float>(Extents<4, 4>{}));
  std::string const me = " in thread " + std::to_string(number);
  for (int i = 0; i < rounds; ++i) {
    w = w * 0.f + sum<0>(x);
    wrong.expect("a sum over replicas" + me, fetch(sum(w)), 40.f);
    w = sum<0>(x) + sum(x);
    wrong.expect("two sums over replicas" + me, fetch(sum(w)), 240.f);
    Vector<Second> there(5);
    there = host + 1.f;
    wrong.expect("a copy" + me, fetch(sum(there)), 5.f * float(number + 1));
    Vector<First> here(5);
    here = there + host;
    collective::all_reduce<collective::sum>(here, there);
    wrong.expect("a collective" + me, fetch(sum(here)), 5.f * float(3 * number + 2));
    wrong.expect("a product" + me, fetch(sum(matmul(a, a))), 64.f);
  }
}

constexpr backends::machine machines[] = {{backends::kind::host, 0, 0},
                                          {backends::kind::simulated, 2, 3},
                                          {backends::kind::recorded, 2, 0}};
template <class Body>
void on_machines(Body&& body) {
  for (backends::machine const& m : machines) backends::run_on(m, body);
}

}  // namespace

TEST_CASE("threads with tensors of their own share devices: the same GPU, two GPUs, the CPU") {
  on_machines([] {
    complaints wrong;
    in_threads(8, wrong, [&](int k) { work_somewhere(k, wrong); });
    CHECK(wrong.first() == "");
  });
}

TEST_CASE("tensors that nobody writes are read by all threads, and copies cross devices") {
  on_machines([] {
    Vector<CpuDevice> const on_cpu = full<float>(Line(100), 3.f);
    Vector<First> const on_gpu = full<float>(Line(100), 4.f);
    complaints wrong;
    in_threads(6, wrong, [&](int k) {
      for (int i = 0; i < 5; ++i) {
        Vector<Second> mine(100);
        mine = on_cpu * on_gpu;
        wrong.expect("a product in thread " + std::to_string(k), fetch(sum(mine)), 1200.f);
      }
    });
    CHECK(wrong.first() == "");
    CHECK(fetch(sum(on_gpu)) == 400.f);
  });
}

TEST_CASE(
    "several threads read one tensor with margins: rows are brought once, or by each in turn") {
  using Ring = Tensor<float, Line, Sharded<0, First, Second, Halo<1, beyond::keep>>>;
  for (bool const reused : {true, false})
    on_machines([&] {
      config::set_halo_reuse(reused);
      complaints wrong;
      for (int turn = 0; turn < 5; ++turn) {
        Ring const x(iota<float>(dextents<1>{40}) + float(turn));
        in_threads(4, wrong, [&](int) {
          Ring y(40);
          y = 0.f;
          for (int k = 0; k < 5; ++k) {
            auto const step = into(interior<1>(y), interior<1, 1>(x) - interior<1, -1>(x));
            if (k % 2)
              run(plan<overlapped<>>(step));
            else
              run(step);
            wrong.expect("the sum", fetch(sum(y)), 76.f);
          }
        });
      }
      config::set_halo_reuse(true);
      CHECK(wrong.first() == "");
    });
}

TEST_CASE("devices that are not there: each thread finds what stands in for them, once told") {
  on_machines([] {
    std::atomic<int> told = 0;
    debugging::set_log_sink(
        [](log_event const& e, std::string_view, void* n) {
          if (e.kind == event_kind::fallback) ++*static_cast<std::atomic<int>*>(n);
        },
        &told);
    complaints wrong;
    in_threads(4, wrong, [&](int) {
      Vector<GpuDevice<7>> x(10);
      x = full<float>(Line(10), 1.f);
      wrong.expect("a sum on a device that is not there", fetch(sum(x)), 10.f);
    });
    debugging::set_log_sink(nullptr);
    CHECK(wrong.first() == "");
    CHECK(told <= 2);  // GPU:7; on the host alone GPU:0 may be said here too
    CHECK(told >= 1);
  });
}

TEST_CASE("settings are read and written, memory is asked for and the log written, all while "
          "others work") {
  on_machines([] {
    complaints wrong;
    struct counted {
      std::atomic<int> lines = 0, inside = 0;
    } log;
    debugging::set_log_sink(
        [](log_event const&, std::string_view, void* to) {
          auto& c = *static_cast<counted*>(to);
          if (c.inside++ != 0) c.lines = -1000000;  // one at a time
          ++c.lines, --c.inside;
        },
        &log);
    std::atomic<bool> over = false;
    debugging::set_log_device_placement(true, log_frequency::every);
    std::thread settings([&] {
      while (!over) {
        debugging::set_log_device_placement(true, log_frequency::every);
        config::set_soft_device_placement(config::get_soft_device_placement());
        config::set_intra_op_parallelism_threads(
            config::get_intra_op_parallelism_threads() == 2 ? 1 : 2);
        if (config::get_memory_info("/CPU:0").current < 0) wrong.add("negative memory");
        config::reset_memory_stats<First>();
        if (config::list_logical_devices().size() < 1) wrong.add("no devices");
        if (config::count_logical_gpus() > 2) wrong.add("too many GPUs");
        config::set_device_policy(config::get_device_policy());
      }
    });
    in_threads(4, wrong, [&](int k) { work_somewhere(k, wrong); });
    over = true;
    settings.join();
    debugging::set_log_device_placement(false);
    debugging::set_log_sink(nullptr);
    config::set_intra_op_parallelism_threads(0);
    CHECK(wrong.first() == "");
    CHECK(log.lines > 0);
  });
}

namespace {

/// Everything that may be set at any time, over and over, from a thread of its own.
class restless_settings {
 public:
  restless_settings(complaints& wrong, bool may_be_hard)
      : wrong_(wrong), may_be_hard_(may_be_hard) {
    thread_ = std::thread([this] {
      for (unsigned k = 0; !over_; ++k) try {
          change(k);
        } catch (std::exception const& e) {
          wrong_.add(std::string("a setting: ") + e.what());
        }
    });
  }
  restless_settings(restless_settings const&) = delete;
  ~restless_settings() {
    over_ = true;
    thread_.join();
    config::set_reduction_order(reduction_order::fast);
    config::set_cross_device_ops(cross_device_ops::automatic);
    runtime::collectives.deadlines = {};
    config::set_copy_cache(0);
    config::set_device_policy(copy_policy::silent);
    config::set_soft_device_placement(true);
    config::set_matmul_precision(matmul_precision::highest);
    config::set_intra_op_parallelism_threads(0);
    config::set_inter_op_parallelism_threads(0);
    debugging::set_log_device_placement(false);
    debugging::set_log_allocations(false);
    debugging::set_nvtx(false);
    debugging::set_log_sink(nullptr);
  }

 private:
  /// said of what is in use, or is not there
  template <class F>
  void refused(F&& f) {
    try {
      f();
    } catch (error const&) {}
  }
  void change(unsigned k) {
    bool const on = k % 2;
    config::set_reduction_order(on ? reduction_order::ranked : reduction_order::fast);
    config::set_cross_device_ops(k / 2 % 2 ? cross_device_ops::reduction_to_one_device
                                           : cross_device_ops::automatic);
    config::set_collective_timeout(on ? 500 : 600);
    config::set_copy_cache(k / 4 % 2 ? 1 << 16 : 0);
    config::set_device_policy(on ? copy_policy::warn : copy_policy::silent);
    config::set_soft_device_placement(!may_be_hard_ || k / 2 % 2);
    config::set_matmul_precision(on ? matmul_precision::high : matmul_precision::highest);
    config::set_intra_op_parallelism_threads(on ? 2 : 1);
    config::set_inter_op_parallelism_threads(on ? 2 : 1);
    debugging::set_log_sink([](log_event const&, std::string_view, void*) {});
    debugging::set_log_device_placement(on, k / 2 % 2 ? log_frequency::every : log_frequency::once);
    debugging::set_log_allocations(k / 4 % 2);
    debugging::set_nvtx(on);
    config::reset_memory_stats<First>();
    if (config::get_memory_info("/CPU:0").current < 0) wrong_.add("negative memory");
    static_cast<void>(config::get_reduction_order());
    static_cast<void>(config::get_cross_device_ops());
    static_cast<void>(config::get_collective_timeout());
    static_cast<void>(config::get_copy_cache());
    static_cast<void>(config::get_matmul_precision());
    // what is frozen while devices are in use
    refused([] { config::set_memory_fraction(0.5); });
    refused([] { config::set_memory_growth("GPU:0", false); });
    refused([] { config::set_visible_devices("GPU", {0}); });
    refused([] { config::set_memory_resource<First>({}); });
    refused([] { config::set_memory_resource<CpuDevice>({}); });
  }
  complaints& wrong_;
  bool may_be_hard_;  // what plans name is there
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("every setting changes while plans run: each run is right, and none fails") {
  for (backends::machine const& m : {backends::machine{backends::kind::host, 0, 0},
                                     {backends::kind::simulated, 3, 3},
                                     {backends::kind::simulated, 3, 4},
                                     {backends::kind::recorded, 3, 0}})
    backends::run_on(m, [&] {
      complaints wrong;
      {
        restless_settings const settings(wrong, m.has_gpu());
        in_threads(4, wrong, [&](int k) { sum_over_replicas(k, wrong); });
      }
      CHECK(wrong.first() == "");
      sum_over_replicas(0, wrong);  // and afterwards
      CHECK(wrong.first() == "");
    });
}

TEST_CASE("a callback of the log that sends the log elsewhere is refused, not left waiting") {
  int refused = 0;
  debugging::set_log_sink(
      [](log_event const&, std::string_view, void* n) {
        try {
          debugging::set_log_sink(nullptr);
        } catch (configuration_error const&) {
          ++*static_cast<int*>(n);
        }
      },
      &refused);
  debugging::set_log_device_placement(true, log_frequency::every);
  Vector<CpuDevice> const x(10);
  debugging::set_log_device_placement(false);
  debugging::set_log_sink(nullptr);
  CHECK(refused > 0);
}

TEST_CASE("what a kernel throws is for the thread that asked for it; others on the GPU are right") {
  testing::simulated_gpus const one{1};
  Vector<First> const x = full<float>(Line(9), 1.f);
  for (int i = 0; i < 3; ++i) {
    Vector<First> y = map(Throws{}, x);  // in flight: the next who waits for the queue runs it
    complaints wrong;
    in_threads(2, wrong, [&](int k) { work_on<First>(k, wrong); });
    CHECK(wrong.first() == "");
    CHECK_THROWS_WITH_AS(static_cast<void>(fetch(sum(y))), "a kernel", std::runtime_error);
  }
}

TEST_CASE("one expression is evaluated by many threads, and tensors pass from thread to thread") {
  on_machines([] {
    Vector<First> const x = full<float>(Line(50), 2.f);
    auto const h = named<"h">(x * x);
    auto const e = h + h;  // both readers share one counted value
    complaints wrong;
    std::optional<Vector<First>> passed[4];
    in_threads(4, wrong, [&](int k) { passed[k] = eval(e); });
    in_threads(4, wrong, [&](int k) {
      Vector<First> mine = std::move(*passed[(k + 1) % 4]);
      wrong.expect("a passed tensor", fetch(sum(mine)), 400.f);
    });
    for (auto& p : passed) p.reset();
    CHECK(wrong.first() == "");
  });
}

TEST_CASE("tensors of a thread end with it") {
  on_machines([] {
    std::int64_t const before = runtime::table.live_blocks;
    complaints wrong;
    in_threads(3, wrong, [&](int k) {
      static thread_local Vector<Second> const mine = full<float>(Line(20), 1.f);
      wrong.expect("a thread's own tensor, thread " + std::to_string(k), fetch(sum(mine)), 20.f);
    });
    CHECK(wrong.first() == "");
    CHECK(runtime::table.live_blocks == before);
  });
}

TEST_CASE("large loops of several threads share one pool") {
  complaints wrong;
  config::set_intra_op_parallelism_threads(3);
  in_threads(3, wrong, [&](int k) {
    Tensor<float, Line> x(300'000);
    x = full<float>(Line(300'000), float(k));
    for (int i = 0; i < 3; ++i) wrong.expect("a large sum", fetch(sum(x)), float(k) * 300'000.f);
  });
  config::set_intra_op_parallelism_threads(0);
  CHECK(wrong.first() == "");
}

TEST_CASE(
    "a card is lost while many threads work: each hears of it or is right, the others go on") {
  int heard = 0;
  for (int n = 0; n < 700; n += 23 + n / 3) {
    CAPTURE(n);
    testing::recorder gpus{{.cards = 2}};
    gpus.lose_card(0, n);
    complaints wrong;
    std::atomic<int> lost = 0;
    in_threads(8, wrong, [&](int k) {
      try {
        work_somewhere(k, wrong);
      } catch (device_lost const& e) {
        ++lost;
        bool const on_it = std::string_view(e.what()).find("/GPU:0") != std::string_view::npos;
        if (k % 4 == 1 || k % 4 == 2 || !on_it) wrong.add(e.what());
      } catch (collective_error const&) {  // its other replica is gone
        ++lost;
        if (k % 4 != 3) wrong.add("a collective failed where there is none");
      }
    });
    CHECK(wrong.first() == "");
    CHECK(runtime::table.live_blocks == 0);
    heard += lost > 0;
  }
  CHECK(heard > 5);
}

TEST_CASE(
    "from whichever call on all of CUDA fails: an error, never a hang, and the host goes on") {
  for (int const code : {2, 4, 719})
    for (int k : {0, 3})
      for (int n = 0, reached = 1; reached; n += 1 + n / 8) {
        CAPTURE(code);
        CAPTURE(n);
        testing::recorder gpus{{.cards = 2}};
        gpus.fail_from(n, code);
        complaints wrong;
        bool threw = false;
        try {
          k == 0 ? work_on<First>(k, wrong) : work_on<Rows>(k, wrong);
        } catch (device_error const&) {
          threw = true;
        } catch (out_of_memory const&) {
          threw = code == 2;
        } catch (collective_error const&) {
          threw = true;
        }
        reached = gpus.failed();
        CHECK(threw == gpus.failed());
        CHECK(wrong.first() == "");
        CHECK(runtime::table.live_blocks == 0);
        work_on<CpuDevice>(1, wrong);
        CHECK(wrong.first() == "");
      }
}

#if LOCUS_OPENMP
TEST_CASE("plans run inside the caller's own parallel region") {
  on_machines([] {
    complaints wrong;
#pragma omp parallel for num_threads(4)
    for (int k = 0; k < 4; ++k) try {
        work_on<First>(k, wrong);
      } catch (std::exception const& e) {
        wrong.add(e.what());
      }
    CHECK(wrong.first() == "");
  });
}
#endif
