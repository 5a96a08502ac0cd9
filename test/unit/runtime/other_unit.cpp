// SPDX-License-Identifier: Apache-2.0
// A unit without OpenMP, for threads_test.cpp, whose unit may have it.
#define LOCUS_OPENMP 0
#include <atomic>
#include <chrono>
#include <thread>

#include <locus/runtime/threads.hpp>

/// means: the thread that runs the second half of a loop of this unit
std::thread::id second_thread_of_other_unit() {
  std::thread::id second;
  std::atomic<int> inside = 0;
  locus::parallel_for(2, 2, [&](int part) {
    if (part == 1) second = std::this_thread::get_id();
    ++inside;
    for (int i = 0; i < 2000 && inside < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  return second;
}
