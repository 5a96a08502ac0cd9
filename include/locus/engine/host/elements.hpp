// SPDX-License-Identifier: Apache-2.0
// Element by element on all threads: the host's loop for calls without host().
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/runtime/threads.hpp>  // parallel_for

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: f(i) for i in [0, n), in any order
template <class F>
void each_element(std::int64_t n, F const& f) {
  constexpr std::int64_t block = 512;
  std::int64_t const blocks = (n + block - 1) / block, most = 1 << 20,
                     tasks = blocks < most ? blocks : most;
  parallel_for(static_cast<int>(tasks), thread_count(), [&](int t) {
    std::int64_t const begin = n / tasks * t + (t < n % tasks ? t : n % tasks),
                       end = begin + n / tasks + (t < n % tasks);
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
