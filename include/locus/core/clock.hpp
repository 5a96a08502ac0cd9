// SPDX-License-Identifier: Apache-2.0
// The clock of deadlines, traces, logs and progress bars. <chrono> would cost every unit a tenth of
// a second to compile.
#pragma once
#include <cstdint>  // int64_t
#include <ctime>    // clock_gettime

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

/// units: nanoseconds of a monotonic clock
inline std::int64_t read_clock() {
  std::timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}
/// units: seconds of the same clock
inline double seconds_now() { return 1e-9 * static_cast<double>(read_clock()); }

}  // namespace locus
