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
  tally done = runtime::executed;
  return done -= before;
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
