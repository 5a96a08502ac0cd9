// SPDX-License-Identifier: Apache-2.0
// What a piece of a program did: launches, copies, collectives.
#pragma once
#include <locus/run/program.hpp>              // executed
#include <locus/runtime/kernel_registry.hpp>  // host_round_trips

namespace locus::testing {

/// means: what this thread's plans did while f ran. Each thread counts its own: what other threads
///        run meanwhile is not seen; count in each of them and add the tallies up with +=
template <class F>
tally count(F&& f) {
  tally const before = runtime::executed;
  f();
  tally const& after = runtime::executed;
  return {after.launches - before.launches,
          after.copies - before.copies,
          after.bytes_moved - before.bytes_moved,
          after.all_reduces - before.all_reduces,
          after.other_reductions - before.other_reductions,
          after.bytes_reduced - before.bytes_reduced,
          after.fallbacks - before.fallbacks,
          after.reused - before.reused,
          after.bytes_reused - before.bytes_reused};
}

/// means: steps on GPUs that ran on the host while f ran, since no unit made their kernel; of all
///        threads. A benchmark refuses to run when there are any.
template <class F>
std::int64_t count_round_trips(F&& f) {
  std::int64_t const before = __atomic_load_n(&runtime::host_round_trips, __ATOMIC_RELAXED);
  f();
  return __atomic_load_n(&runtime::host_round_trips, __ATOMIC_RELAXED) - before;
}

}  // namespace locus::testing
