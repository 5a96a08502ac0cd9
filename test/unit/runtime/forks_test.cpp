// SPDX-License-Identifier: Apache-2.0
// fork(): before the first use the child is free, after it the child is told, and nothing hangs.
#if !defined(LOCUS_CUDA_KERNELS)
#define LOCUS_CUDA_KERNELS 1
#endif
#include <atomic>
#include <child.hpp>
#include <memory>
#include <on_backends.hpp>
#include <thread>

#include "sanitizers.hpp"

using namespace locus;

namespace {

using First = GpuDevice<0>;
using Line = Extents<40>;
template <class Where>
using Vector = Tensor<float, Line, Where>;

enum : int { hung = 1000, signalled = 2000 };

/// means: what f returns in a forked child, or hung after ten seconds
template <class F>
int in_child(F&& f) {
  pid_t const process = fork();
  if (process == 0) {
    int code = 99;
    try {
      code = f();
    } catch (std::exception const& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    std::_Exit(code);
  }
  int status = 0;
  for (int i = 0; i < 2000; ++i) {
    if (waitpid(process, &status, WNOHANG) == process)
      return WIFEXITED(status) ? WEXITSTATUS(status) : signalled + WTERMSIG(status);
    usleep(5000);
  }
  kill(process, SIGKILL);
  waitpid(process, &status, 0);
  return hung;
}
/// means: 1, if f throws what a forked child hears, else 0
template <class F>
int is_told(F&& f) {
  try {
    f();
  } catch (configuration_error const& e) {
    std::string const text = e.what();
    return text.find("locus: this process was forked after the devices were first used") == 0 &&
           text.find("; fork before that, or exec a program in the child") != text.npos;
  }
  return 0;
}

}  // namespace

TEST_CASE("a child that uses devices which its parent uses is told, and the parent goes on") {
  on_few_backends([] {
    auto x = std::make_unique<Vector<First>>();
    Vector<CpuDevice> y = full<float>(Line(), 2.f);
    *x = y + 1.f;
    int const code = in_child([&] {
      int told = is_told([&] { *x = *x * 2.f; });
      told += is_told([&] { y = y * 2.f; });
      told += is_told([&] { static_cast<void>(fetch(sum(*x))); });
      told += is_told([&] { Vector<CpuDevice> fresh; });
      told += is_told([&] { Vector<First> copied = *x; });
      told += is_told([&] { config::list_logical_devices(); });
      told += is_told([&] { testing::simulated_gpus two{2}; });
      told += y(0) == 2.f;  // memory of the host can be read
      Vector<First> const moved = std::move(*x);
      x.reset();
      return told;
    });
    CHECK(code == 8);
    CHECK(fetch(sum(*x)) == 120.f);
    y = y * 2.f;
    CHECK(y(39) == 4.f);
  });
}

TEST_CASE("a child ends by exit while its parent's tensors live" *
          doctest::skip(under_thread_sanitizer)) {
  on_few_backends([] {
    Vector<First> x = full<float>(Line(), 1.f);
    static std::unique_ptr<Vector<First>> kept;
    kept = std::make_unique<Vector<First>>(x);
    CHECK(in_child([]() -> int { std::exit(7); }) == 7);
    CHECK(fetch(sum(*kept)) == 40.f);
    kept.reset();
  });
}

TEST_CASE("forks while other threads work: no child hangs") {
  on_few_backends([] {
    std::atomic<bool> over = false;
    std::thread others[2];
    for (std::thread& t : others)
      t = std::thread([&] {
        Vector<First> x = full<float>(Line(), 1.f);
        while (!over) x = 2.f * x - x;
      });
    Vector<First> y = full<float>(Line(), 1.f);
    int told = 0;
    for (int i = 0; i < 10; ++i)
      told += in_child([&] { return is_told([&] { static_cast<void>(fetch(sum(y))); }); }) == 1;
    over = true;
    for (std::thread& t : others) t.join();
    CHECK(told == 10);
    CHECK(fetch(sum(y)) == 40.f);
  });
}

TEST_CASE("child: forks before the first use" * doctest::skip()) {
  int const code = in_child([] {
    Vector<First> x = full<float>(Line(), 3.f);
    return static_cast<int>(fetch(sum(x)));
  });
  CHECK(code == 120);
  Vector<First> x = full<float>(Line(), 2.f);  // here it is the first use, too
  CHECK(fetch(sum(x)) == 80.f);
}
TEST_CASE("forks before the first use leave both processes free") {
  for (char const* gpus : {"LOCUS_SIMULATED_GPUS=2", "LOCUS_SIMULATED_GPUS=0"}) {
    child::result const r =
        child::run("child: forks before the first use", {gpus, "LOCUS_QUIET=1"});
    CHECK(r.code == 0);
    CHECK_MESSAGE(!r.hung, r.text);
  }
}
