// SPDX-License-Identifier: Apache-2.0
// Times of what all ranks do at once: each waits for all others before it begins and before it ends.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include <locus/collective/rank_functions.hpp>

using wall = std::chrono::steady_clock;
inline double since(wall::time_point begin) {
  return std::chrono::duration<double>(wall::now() - begin).count();
}
inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}
/// means: the median time of f over rounds of `repeats` calls
template <class F>
double seconds_of(int rounds, int repeats, F&& f) {
  auto const meet = [] { static_cast<void>(locus::internal::some_rank_says(false)); };
  f();
  std::vector<double> all;
  for (int k = 0; k < rounds; ++k) {
    meet();
    auto const begin = wall::now();
    for (int i = 0; i < repeats; ++i) f();
    meet();
    all.push_back(since(begin) / repeats);
  }
  return median(all);
}
