// SPDX-License-Identifier: Apache-2.0
// Settings of collectives: the order of sums, the algorithm between cards, and the time that a step
// may wait for other replicas.
#pragma once
#include <locus/core/error.hpp>      // configuration_error
#include <locus/core/is_finite.hpp>  // is_nan
#include <locus/core/lock.hpp>       // mutex
#include <locus/core/macros.hpp>     // LOCUS_SHARED_STATE

namespace locus {

/// The order in which terms are added. fast: that of the algorithm; between cards NCCL's, which
/// depends on topology and size. ranked: the order of replicas, with the same bits on every
/// backend.
enum class reduction_order : unsigned char { fast, ranked };

/// How reductions over several cards are computed.
enum class cross_device_ops : unsigned char {
  automatic,                // by NCCL, if it is installed
  reduction_to_one_device,  // the host: copies, a fold, copies back
};

namespace runtime {
/// units: seconds; 0: no limit. NCCL itself has no deadlines.
struct collective_deadlines {
  double init = 60, first = 60, steady = 600;
};
/// Settings that a run reads once, at its beginning, so that they stay the same during the run
/// while other threads change them.
struct collective_choices {
  reduction_order order = reduction_order::fast;
  cross_device_ops carrier = cross_device_ops::automatic;
};
struct collective_settings {
  collective_choices chosen{};
  collective_deadlines deadlines{};
};
LOCUS_SHARED_STATE inline constinit collective_settings collectives;

inline collective_choices chosen_for_collectives() {
  collective_choices now;
  __atomic_load(&collectives.chosen.order, &now.order, __ATOMIC_RELAXED);
  __atomic_load(&collectives.chosen.carrier, &now.carrier, __ATOMIC_RELAXED);
  return now;
}
inline double collective_deadline(double collective_deadlines::* which) {
  double seconds;
  __atomic_load(&(collectives.deadlines.*which), &seconds, __ATOMIC_RELAXED);
  return seconds;
}

/// Held while a group of collectives is issued, and during operations that must not happen then: an
/// allocation on a card can wait for a group of which only a part is issued, and both would wait
/// for ever.
LOCUS_SHARED_STATE inline constinit mutex issue_lock;
}  // namespace runtime

namespace config {

/// means: sets the order in which the terms of replicas are added, for later runs
/// cost:  ranked, between cards: as many bytes as a ring, and one more pass over the terms
inline void set_reduction_order(reduction_order order) {
  __atomic_store(&runtime::collectives.chosen.order, &order, __ATOMIC_RELAXED);
}
inline reduction_order get_reduction_order() { return runtime::chosen_for_collectives().order; }

/// means: sets how later runs reduce over several cards
/// after: cross_device_ops of tf.distribute.MirroredStrategy
inline void set_cross_device_ops(cross_device_ops who) {
  __atomic_store(&runtime::collectives.chosen.carrier, &who, __ATOMIC_RELAXED);
}
inline cross_device_ops get_cross_device_ops() { return runtime::chosen_for_collectives().carrier; }

/// means: a longer wait for a collective throws collective_error; 0: no limit
/// units: seconds; the default is 60 for communicators and their first collective, then 600
/// fails: configuration_error for a negative number
inline void set_collective_timeout(double seconds) {
  if (internal::is_nan(seconds) || seconds < 0)
    throw configuration_error(
        "locus: the timeout of collectives is negative; write seconds, or 0 for none");
  runtime::collective_deadlines& d = runtime::collectives.deadlines;
  for (double* each : {&d.init, &d.first, &d.steady})
    __atomic_store(each, &seconds, __ATOMIC_RELAXED);
}
inline double get_collective_timeout() {
  return runtime::collective_deadline(&runtime::collective_deadlines::steady);
}

}  // namespace config

}  // namespace locus
