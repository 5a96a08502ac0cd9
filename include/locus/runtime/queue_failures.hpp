// SPDX-License-Identifier: Apache-2.0
// A count of failures in late queues. A copy behind a failed kernel may be left out, so what a run
// brings to a device serves later runs only while this count stays.
#pragma once
#include <cstdint>  // uint64_t

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

LOCUS_SHARED_STATE inline constinit std::uint64_t failures_of_queues = 0;

/// means: a number that rises when a kernel fails, and again when a wait of its thread reports it
inline std::uint64_t queue_failures() {
  return __atomic_load_n(&failures_of_queues, __ATOMIC_ACQUIRE);
}
/// means: no copy so far serves later runs
inline void count_queue_failure() {
  __atomic_fetch_add(&failures_of_queues, std::uint64_t(1), __ATOMIC_ACQ_REL);
}

}  // namespace locus::runtime
