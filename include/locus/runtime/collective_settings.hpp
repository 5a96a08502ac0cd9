// SPDX-License-Identifier: Apache-2.0
// What a program may set about collectives: the order of sums, who carries them, and how long a
// step may wait for its peers.
#pragma once
#include <locus/core/config.hpp>  // LOCUS_SHARED_STATE
#include <locus/core/error.hpp>   // configuration_error
#include <locus/core/lock.hpp>    // mutex

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
struct collective_settings {
  reduction_order order = reduction_order::fast;
  cross_device_ops carrier = cross_device_ops::automatic;
  collective_deadlines deadlines{};
};
LOCUS_SHARED_STATE inline constinit collective_settings collectives;

/// Held while a group of collectives is issued, and by what must not happen meanwhile: allocations
/// on cards can wait for all of them, and then nobody goes on.
LOCUS_SHARED_STATE inline constinit mutex issue_lock;
}  // namespace runtime

namespace config {

/// means: the order in which terms of replicas are added from now on
/// cost:  ranked, among cards: the bytes of a ring, and one more pass over the terms
inline void set_reduction_order(reduction_order order) { runtime::collectives.order = order; }
inline reduction_order get_reduction_order() { return runtime::collectives.order; }

/// means: who carries reductions over several cards from now on
/// after: cross_device_ops of tf.distribute.MirroredStrategy
inline void set_cross_device_ops(cross_device_ops who) { runtime::collectives.carrier = who; }
inline cross_device_ops get_cross_device_ops() { return runtime::collectives.carrier; }

/// means: who waits longer than that for a collective gets a collective_error; 0: for ever
/// units: seconds; before it is called: 60 for communicators and their first collective, then 600
/// fails: configuration_error for a negative number
inline void set_collective_timeout(double seconds) {
  if (!(seconds >= 0))
    throw configuration_error(
        "locus: the timeout of collectives is negative; write seconds, or 0 for none");
  runtime::collectives.deadlines = {seconds, seconds, seconds};
}
inline double get_collective_timeout() { return runtime::collectives.deadlines.steady; }

}  // namespace config

}  // namespace locus
