// SPDX-License-Identifier: Apache-2.0
// The host's threads: each task once, exceptions arrive, loops in loops end.
#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include <locus/runtime/config.hpp>
#include <locus/runtime/threads.hpp>

using namespace locus;

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

TEST_CASE("loops of several threads at once all end") {
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
