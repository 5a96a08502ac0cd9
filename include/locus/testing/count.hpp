// SPDX-License-Identifier: Apache-2.0
// Counts of a piece of a program: launches, copies, collectives.
#pragma once
#include <locus/run/program.hpp>              // executed
#include <locus/runtime/kernel_registry.hpp>  // host_round_trips

namespace locus::testing {

/// means: the counts of the plans that this thread runs in f(). Plans of other threads are not
///        counted: call count in each thread and add the tallies with +=
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
          after.bytes_reused - before.bytes_reused,
          after.unfused - before.unfused,
          after.halo_exchanges - before.halo_exchanges};
}

/// means: the round trips of all threads during f(): steps for GPUs that ran on the host, because
///        no unit made their kernel. A benchmark refuses to run with any.
template <class F>
std::int64_t count_round_trips(F&& f) {
  std::int64_t const before = __atomic_load_n(&runtime::host_round_trips, __ATOMIC_RELAXED);
  f();
  return __atomic_load_n(&runtime::host_round_trips, __ATOMIC_RELAXED) - before;
}

}  // namespace locus::testing
