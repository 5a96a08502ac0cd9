// SPDX-License-Identifier: Apache-2.0
// How a program may end: tensors with static storage, work in flight, exit() from inside, a driver
// that is gone. Nothing crashes, hangs or throws; AddressSanitizer looks for leaks.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <child.hpp>
#include <cstdio>
#include <exception>
#include <on_backends.hpp>
#include <optional>
#include <thread>

#include "sanitizers.hpp"

using namespace locus;

namespace {

using First = GpuDevice<0>;
using Both = Mirrored<First, GpuDevice<1>>;
using Line = Extents<1000>;
template <class Where>
using Vector = Tensor<float, Line, Where>;

/// before any device: destroyed behind all that is made later
std::optional<Vector<CpuDevice>> on_a_cpu;
std::optional<Vector<First>> on_a_gpu;
std::optional<Vector<Both>> on_two;
thread_local std::optional<Vector<First>> of_thread;

void use_all() {
  on_a_cpu.emplace(full<float>(Line(), 1.f));
  on_a_gpu.emplace(full<float>(Line(), 2.f));
  on_two.emplace();
  *on_two = *on_a_gpu + 1.f;
  of_thread.emplace(*on_a_gpu * 2.f);  // in flight
}

struct Leaves {
  static constexpr auto name = "leaves";
  static constexpr auto kernels = locus::on_both;
  float operator()(float v) const {
    if (v == 2.f) std::exit(3);
    return v;
  }
};
struct Returns {
  static constexpr auto name = "returns";
  static constexpr auto kernels = locus::on_both;
  float operator()(float v) const {
    static thread_local bool once = false;
    if (once) return v;
    once = true;
    return fetch(sum(*on_a_gpu)) + v;
  }
};

void expect_quiet_end(char const* test_case, int code = 0, std::vector<std::string> more = {}) {
  for (char const* gpus : {"LOCUS_SIMULATED_GPUS=2", "LOCUS_SIMULATED_GPUS=0"}) {
    more.push_back(gpus), more.push_back("LOCUS_QUIET=1");
    child::result const r = child::run(test_case, more, 20);
    CHECK_MESSAGE(!r.hung, r.text);
    CHECK_MESSAGE(r.code == code, r.text);
    CHECK_MESSAGE(!r.says("locus:"), r.text);
    CHECK_MESSAGE(!r.says("Sanitizer"), r.text);
    more.pop_back(), more.pop_back();
  }
}

}  // namespace

TEST_CASE("child: static tensors" * doctest::skip()) { use_all(); }
TEST_CASE("tensors with static storage and those of threads end with the program") {
  expect_quiet_end("child: static tensors");
  expect_quiet_end("child: static tensors", 0, {"LOCUS_NUM_THREADS=2"});
}

TEST_CASE("child: a thread that is still there" * doctest::skip()) {
  use_all();
  std::thread([] {
    of_thread.emplace(full<float>(Line(), 1.f));
    for (;;) *of_thread = 1.f * *of_thread;
  }).detach();
  usleep(20000);
}
TEST_CASE("a thread that still works when the program ends") {
  expect_quiet_end("child: a thread that is still there");
}

TEST_CASE("child: exit in a functor" * doctest::skip()) {
  use_all();
  Vector<First> const x = map(Leaves{}, *on_a_gpu);
  static_cast<void>(fetch(sum(x)));
}
TEST_CASE("exit from inside a kernel" * doctest::skip(under_thread_sanitizer)) {
  expect_quiet_end("child: exit in a functor", 3);
}

TEST_CASE("child: _Exit in flight" * doctest::skip()) {
  use_all();
  std::_Exit(4);
}
TEST_CASE("quick ends") { expect_quiet_end("child: _Exit in flight", 4); }

TEST_CASE("a kernel of a simulated GPU that uses locus is an error, not a hang" *
          doctest::skip(under_thread_sanitizer)) {
  testing::simulated_gpus const one{1};
  on_a_gpu.emplace(full<float>(Line(), 2.f));
  Vector<First> const x = map(Returns{}, *on_a_gpu);
  CHECK_THROWS_WITH_AS(static_cast<void>(fetch(sum(x))),
                       "locus: a kernel of a simulated GPU uses locus itself; compute that before "
                       "the plan",
                       bad_access);
  on_a_gpu.reset();
}

TEST_CASE("CUDA that is unloaded before the tensors: nothing throws, nothing is said") {
  testing::recorder cards{{.cards = 2}};
  {
    Vector<First> x = full<float>(Line(), 2.f);
    Vector<Both> y;
    y = x + 1.f;
    CHECK(fetch(sum(y)) == 3000.f);
    cards.fail_from(0, 4);
  }
  CHECK(runtime::table.live_blocks == 0);
}

namespace {
std::terminate_handler before_mine;
[[noreturn]] void my_terminate() {
  std::fputs("the handler of the program\n", stderr);
  before_mine();
  std::abort();
}
std::string trace_of_child(pid_t parent) { return "/tmp/locus_exit_" + std::to_string(parent); }
}  // namespace

TEST_CASE("child: a terminate handler that calls the one before it" * doctest::skip()) {
  std::string const path = trace_of_child(getppid());
  debugging::start_trace(path);
  before_mine = std::set_terminate(my_terminate);
  debugging::start_trace(path);
  std::thread([] { throw 7; }).join();
}
TEST_CASE("a terminate handler of the program may call that of locus, and is called once") {
  child::result const r =
      child::run("child: a terminate handler that calls the one before it", {}, 20);
  unlink(trace_of_child(getpid()).c_str());
  CHECK_MESSAGE(!r.hung, r.text);
  CHECK_MESSAGE(r.count("the handler of the program\n") == 1, r.text.substr(0, 2000));
  CHECK_MESSAGE(r.says("terminate called after throwing an instance of 'int'"),
                r.text.substr(0, 2000));
}
