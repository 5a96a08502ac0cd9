// SPDX-License-Identifier: Apache-2.0
// The host's threads: each task once, exceptions arrive, loops in loops end. Run twice: over the pool
// of our own and, with LOCUS_THREADS=openmp, over OpenMP's.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <locus/config/settings.hpp>
#include <locus/runtime/copy_bytes.hpp>
#include <locus/runtime/threads.hpp>

#include "sanitizers.hpp"

using namespace locus;

std::thread::id second_thread_of_other_unit();  // which has no OpenMP

TEST_CASE("a parallel loop runs each task once, whatever the numbers") {
  for (int const threads : {0, 1, 2, 3, 7, 64, 1000})
    for (int const tasks : {0, 1, 2, 3, 64, 65, 1000}) {
      CAPTURE(threads);
      CAPTURE(tasks);
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(tasks));
      parallel_for(tasks, threads, [&](int i) { ++seen[static_cast<std::size_t>(i)]; });
      for (auto const& n : seen) REQUIRE(n == 1);
    }
}

TEST_CASE("ranges hold each task once, also of more tasks than an int counts") {
  for (std::int64_t const tasks : {0L, 1L, 7L, 5000L, 3000000000L, 9000000000L})
    for (std::int64_t const least : {1L, 300L})
      for (int const threads : {0, 1, 2, 5}) {
        CAPTURE(tasks);
        CAPTURE(least);
        CAPTURE(threads);
        std::atomic<std::int64_t> count = 0, calls = 0;
        std::atomic<std::uint64_t> sum = 0;  // of first + ... + end - 1, modulo 2^64
        auto sum_of = [](std::int64_t first, std::int64_t end) {
          auto const n = static_cast<std::uint64_t>(end - first);
          auto const ends = static_cast<std::uint64_t>(first + end - 1);
          return n % 2 == 0 ? n / 2 * ends : n * (ends / 2);
        };
        parallel_ranges(tasks, least, threads, [&](std::int64_t first, std::int64_t end) {
          if (first >= end) count += tasks + 1;
          count += end - first, ++calls;
          sum += sum_of(first, end);
        });
        CHECK(count == tasks);
        CHECK(sum == sum_of(0, tasks));
        CHECK(calls <= 64 * std::max(threads, 1));
      }
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(std::int64_t(1000), 3, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
  for (auto const& n : seen) REQUIRE(n == 1);
}

TEST_CASE("two threads work at the same time") {
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  parallel_for(2, 2, [&](int) {
    ++inside;
    for (int i = 0; i < 2000 && inside < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (inside == 2) met = true;
  });
  CHECK(met.load());
}

TEST_CASE("an exception arrives, no task runs twice, and the next loop works") {
  for (int const threads : {1, 2, 4}) {
    CAPTURE(threads);
    std::vector<std::atomic<int>> seen(100);
    CHECK_THROWS_WITH_AS(parallel_for(100, threads,
                                      [&](int i) {
                                        ++seen[static_cast<std::size_t>(i)];
                                        if (i % 10 == 3) throw std::runtime_error("task");
                                      }),
                         "task", std::runtime_error);
    for (auto const& n : seen) CHECK(n <= 1);
    std::atomic<int> after = 0;
    parallel_for(100, threads, [&](int) { ++after; });
    CHECK(after == 100);
  }
}

TEST_CASE("a loop inside a loop runs all of its tasks, and its exceptions arrive") {
  std::atomic<int> n = 0;
  parallel_for(4, 2, [&](int) { parallel_for(25, 2, [&](int) { ++n; }); });
  CHECK(n == 100);
  CHECK_THROWS_AS(parallel_for(4, 2, [](int) { parallel_for(4, 2, [](int) { throw 5; }); }), int);
}

#if LOCUS_OPENMP
TEST_CASE("a loop inside the caller's own parallel region runs all of its tasks on its thread") {
  std::atomic<int> n = 0, elsewhere = 0;
#pragma omp parallel num_threads(2)
  {
    auto const me = std::this_thread::get_id();
    for (int i = 0; i < 20; ++i)
      parallel_for(10, 2, [&](int) { ++n, elsewhere += std::this_thread::get_id() != me; });
  }
  CHECK(n % 200 == 0);
  CHECK(n >= 200);
  if (n == 400) CHECK(elsewhere == 0);  // the region got its two threads
}
#endif

TEST_CASE("loops of several threads at once share the workers and all end") {
  std::atomic<int> n = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) parallel_for(10, 2, [&](int) { ++n; });
    });
  for (auto& c : callers) c.join();
  CHECK(n == 4 * 50 * 10);
}

TEST_CASE("tasks know which step runs") {
  runtime::step_record const record{7, "a step", cpu(0)};
  runtime::running_scope const scope(&record);
  std::atomic<int> known = 0;
  parallel_for(8, 2, [&](int) { known += runtime::running == &record; });
  CHECK(known == 8);
}

TEST_CASE("the number of threads is what was set, and a negative one is refused") {
  int const before = thread_count();
  config::set_intra_op_parallelism_threads(3);
  CHECK(thread_count() == 3);
  CHECK(config::get_intra_op_parallelism_threads() == 3);
  CHECK_THROWS_WITH_AS(config::set_intra_op_parallelism_threads(-1),
                       "locus: the number of threads is negative; write 0 for the default",
                       configuration_error);
  CHECK(thread_count() == 3);
  config::set_intra_op_parallelism_threads(0);
  CHECK(thread_count() == before);
}

TEST_CASE("the same part of a loop runs on the same thread again") {
  constexpr int first =
      5;  // before, a worker that comes late on a busy machine finds its part taken
  constexpr int rounds = first + 50;
  std::thread::id of_part[2][rounds];
  for (int round = 0; round < rounds; ++round)
    for (int wait = 0; wait < 2; ++wait) {  // once each has come: until then parts are stolen
      std::atomic<int> inside = 0;
      parallel_for(2, 2, [&](int part) {
        of_part[part][round] = std::this_thread::get_id();
        ++inside;
        for (int i = 0; i < 2000 && inside < 2; ++i)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    }
  for (int round = first; round < rounds; ++round) {
    CHECK(of_part[0][round] == of_part[0][first]);
    CHECK(of_part[1][round] == of_part[1][first]);
    CHECK(of_part[0][round] == std::this_thread::get_id());
  }
}

TEST_CASE("units with and without OpenMP share the workers") {
  if (runs_on_openmp()) return;
  std::thread::id second;
  std::atomic<int> inside = 0;
  parallel_for(2, 2, [&](int part) {
    if (part == 1) second = std::this_thread::get_id();
    ++inside;
    for (int i = 0; i < 2000 && inside < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  CHECK(second_thread_of_other_unit() == second);
  CHECK(second != std::this_thread::get_id());
}

TEST_CASE("a worker that does not come is not waited for") {
  if (runs_on_openmp()) return;  // its loops do wait
  // a loop of another thread holds the only worker; this one ends all the same
  std::atomic<bool> held = false, end = false;
  std::thread other([&] {
    parallel_for(2, 2, [&](int) {
      held = true;
      while (!end) std::this_thread::yield();
    });
  });
  while (!held) std::this_thread::yield();
  std::atomic<int> n = 0;
  parallel_for(100, 2, [&](int) { ++n; });
  CHECK(n == 100);
  end = true;
  other.join();
}

TEST_CASE("threads that wait for work sleep: an idle process takes no processor") {
  if (runs_on_openmp()) return;
  parallel_for(64, 8, [](int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto const used = [] {
    std::timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  double const before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(used() - before < 0.05);
}

TEST_CASE("a child of a fork has no workers and needs none" *
          doctest::skip(under_thread_sanitizer)) {
  if (runs_on_openmp()) return;  // libgomp's loops hang there
  parallel_for(64, 4, [](int) {});
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> n = 0;
    for (int i = 0; i < 10; ++i) parallel_for(64, 4, [&](int) { ++n; });
    _exit(n == 640 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  // and one that is made inside a loop, by the loop's own thread, ends that loop
  pid_t inner = -1;
  auto const me = std::this_thread::get_id();
  parallel_for(64, 4, [&](int) {
    if (std::this_thread::get_id() != me || inner >= 0) return;
    inner = fork();
    if (inner == 0) alarm(20);
  });
  if (inner == 0) _exit(0);
  REQUIRE(waitpid(inner, &status, 0) == inner);
  CHECK(WIFEXITED(status));
}

TEST_CASE("whose threads is LOCUS_THREADS; anything else is refused") {
  setenv("LOCUS_THREADS", "all", 1);
  CHECK_THROWS_WITH_AS(runtime::find_thread_choice(),
                       "locus: LOCUS_THREADS is \"all\"; write pool or openmp",
                       configuration_error);
  setenv("LOCUS_THREADS", "openmp", 1);
  CHECK(runtime::find_thread_choice() == runtime::thread_choice::openmp);
  setenv("LOCUS_THREADS", "pool", 1);
  CHECK(runtime::find_thread_choice() == runtime::thread_choice::pool);
  unsetenv("LOCUS_THREADS");
  CHECK(runtime::find_thread_choice() == runtime::thread_choice::pool);
}

namespace {
/// a folder of control groups, as the system shows them
struct groups {
  std::string root = "/tmp/locus_groups_" + std::to_string(getpid());
  std::vector<std::string> made;

  groups() { folder(""); }
  ~groups() {
    for (auto k = made.rbegin(); k != made.rend(); ++k)
      if (unlink(k->c_str()) != 0) rmdir(k->c_str());
  }
  void folder(std::string const& name) {
    mkdir((root + name).c_str(), 0700);
    made.push_back(root + name);
  }
  void file(std::string const& name, std::string const& text) {
    int const f = open((root + name).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    REQUIRE(f >= 0);
    REQUIRE(write(f, text.data(), text.size()) == ssize_t(text.size()));
    close(f);
    made.push_back(root + name);
  }
  int quota(std::string const& own) {
    file("/own", own);
    return runtime::quota_of_groups((root + "/own").c_str(), root.c_str());
  }
};
}  // namespace

TEST_CASE("control groups of version 2: the least quota of a group and those around it") {
  groups g;
  g.folder("/a"), g.folder("/a/b");
  g.file("/cpu.max", "max 100000\n");
  CHECK(g.quota("0::/a/b\n") == 0);
  g.file("/a/cpu.max", "350000 100000\n");
  CHECK(g.quota("0::/a/b\n") == 4);  // rounded up
  g.file("/a/b/cpu.max", "200000 100000\n");
  CHECK(g.quota("0::/a/b\n") == 2);
  CHECK(g.quota("0::/a\n") == 4);
  CHECK(g.quota("0::/\n") == 0);
  CHECK(g.quota("0::/not/mounted/here\n") == 0);
  g.file("/cpu.max", "50000 100000\n");  // a container's own group is its mount
  CHECK(g.quota("0::/not/mounted/here\n") == 1);
  CHECK(g.quota("") == 0);
  CHECK(g.quota("no such line") == 0);
}
TEST_CASE("control groups of version 1, and both at once") {
  groups g;
  g.folder("/cpu"), g.folder("/cpu/job"), g.folder("/unified"), g.folder("/unified/x");
  g.file("/cpu/cpu.cfs_quota_us", "-1\n");
  g.file("/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(g.quota("4:cpu,cpuacct:/job\n1:name=systemd:/\n") == 0);
  g.file("/cpu/job/cpu.cfs_quota_us", "150000\n");
  g.file("/cpu/job/cpu.cfs_period_us", "50000\n");
  CHECK(g.quota("4:cpu,cpuacct:/job\n1:name=systemd:/\n") == 3);
  CHECK(g.quota("4:cpuacct,cpu:/job") == 3);
  CHECK(g.quota("4:cpuset:/job") == 0);
  g.file("/unified/x/cpu.max", "100000 100000\n");
  CHECK(g.quota("4:cpu:/job\n0::/x\n") == 1);
}
TEST_CASE("a process that may use one processor has one thread") {
  cpu_set_t before, one;
  CPU_ZERO(&one);
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  cpu_set_t const seen = runtime::allowed_processors();
  if (!std::getenv("OMP_PROC_BIND")) {
    CHECK(CPU_COUNT(&seen) == 1);
    CHECK(runtime::count_processors() == 1);
  }
  sched_setaffinity(0, sizeof before, &before);
}

TEST_CASE("what a thread must have to do depends on whether it sleeps, and on what comes next") {
  runtime::thread_pool& pool = runtime::thread_pool::instance();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // all sleep, and no crowd is known
  CHECK(pool.worth(1000000, 2, runtime::worth_waking) == 2);
  CHECK(pool.worth(20000, 2, runtime::worth_waking) == 1);
  bool woken = false;  // a train of short loops
  for (int i = 0; i < 100 && !woken; ++i) woken = pool.worth(20000, 2, runtime::worth_waking) == 2;
  CHECK(woken);
}

TEST_CASE("a worker on the processor of its caller does not spin there: the machine is crowded" *
          doctest::skip(under_thread_sanitizer)) {
  if (runs_on_openmp()) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(std::size_t(sched_getcpu()), &one);
  pid_t const child = fork();  // a process of its own, whose threads have one processor
  REQUIRE(child >= 0);
  if (child == 0) {
    sched_setaffinity(0, sizeof one, &one);
    runtime::thread_pool& pool = runtime::thread_pool::instance();
    for (int loop = 0; loop < 3; ++loop) {
      std::atomic<int> came = 0;
      parallel_for(2, 2, [&](int) {
        for (++came; came < 2;) sched_yield();
      });
    }
    bool woken = false;  // the train of short loops that wakes a worker where none is crowded
    for (int i = 0; i < 100 && !woken; ++i)
      woken = pool.worth(20000, 2, runtime::worth_waking) == 2;
    _exit(woken);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("copies of any size on any number of threads are the bytes of their source") {
  std::vector<unsigned char> from(5 << 20), to(from.size() + 2);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<unsigned char>(i * 7 + i / 255);
  for (int const threads : {1, 2, 3, 7}) {
    config::set_intra_op_parallelism_threads(threads);
    for (std::size_t const n :
         {0ul, 1ul, 8191ul, 16385ul, 1ul << 18, (1ul << 20) + 5, from.size()}) {
      std::fill(to.begin(), to.end(), static_cast<unsigned char>(3));
      runtime::copy_bytes(to.data() + 1, from.data(), n);
      CHECK(std::equal(from.begin(), from.begin() + std::ptrdiff_t(n), to.begin() + 1));
      CHECK(to[0] == 3);
      CHECK(to[n + 1] == 3);
      if (n > 0 && threads > 1) {
        runtime::copy_in_parts(reinterpret_cast<char*>(to.data()),
                               reinterpret_cast<char const*>(from.data()), n, threads);
        CHECK(std::equal(from.begin(), from.begin() + std::ptrdiff_t(n), to.begin()));
      }
    }
  }
  config::set_intra_op_parallelism_threads(0);
}
