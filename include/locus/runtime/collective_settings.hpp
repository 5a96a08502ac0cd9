// SPDX-License-Identifier: Apache-2.0
// What a program may set about collectives: the order of sums, who carries them, and how long a
// step may wait for its peers.
#pragma once
#include <locus/core/error.hpp>   // configuration_error
#include <locus/core/lock.hpp>    // mutex
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE

namespace locus {

/// How terms are added. fast: as the carrier does it, which among cards is NCCL's order, a function
/// of topology and size; ranked: in replica order, with the same bits on every backend.
enum class reduction_order : unsigned char { fast, ranked };

/// Who carries reductions over several cards.
enum class cross_device_ops : unsigned char {
  automatic,                // NCCL where it is there
  reduction_to_one_device,  // the host: copies, a fold, copies back
};

namespace runtime {
/// units: seconds; 0: for ever. NCCL has no deadline of its own.
struct collective_deadlines {
  double init = 60, first = 60, steady = 600;
};
/// What a run asks for once, when it begins: what it foresees is what it does, whatever other threads
/// set meanwhile.
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

/// Held while a group of collectives is issued, and by what must not happen meanwhile: allocations
/// on cards can wait for all of them, and then nobody goes on.
LOCUS_SHARED_STATE inline constinit mutex issue_lock;
}  // namespace runtime

namespace config {

/// means: the order in which terms of replicas are added, by runs that begin from now on
/// cost:  ranked, among cards: the bytes of a ring, and one more pass over the terms
inline void set_reduction_order(reduction_order order) {
  __atomic_store(&runtime::collectives.chosen.order, &order, __ATOMIC_RELAXED);
}
inline reduction_order get_reduction_order() { return runtime::chosen_for_collectives().order; }

/// means: who carries reductions over several cards, of runs that begin from now on
/// after: cross_device_ops of tf.distribute.MirroredStrategy
inline void set_cross_device_ops(cross_device_ops who) {
  __atomic_store(&runtime::collectives.chosen.carrier, &who, __ATOMIC_RELAXED);
}
inline cross_device_ops get_cross_device_ops() { return runtime::chosen_for_collectives().carrier; }

/// means: who waits longer than that for a collective gets a collective_error; 0: for ever
/// units: seconds; before it is called: 60 for communicators and their first collective, then 600
/// fails: configuration_error for a negative number
inline void set_collective_timeout(double seconds) {
  if (!(seconds >= 0))
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
