// SPDX-License-Identifier: Apache-2.0
// Communicators: made before the first step, made again after a failure, or given by the program.
#pragma once
#include <locus/backend/all_gpus.hpp>     // visible_gpus
#include <locus/collective/topology.hpp>  // replica_topology
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/policy.hpp>        // device_policy

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

LOCUS_FUNCTION replica_topology cards_of(device_list const& devices, std::string_view what);
inline device_list named_devices(device_list const& devices) {
  return runtime::place_now({devices}).devices;
}
[[gnu::cold]] LOCUS_FUNCTION void prepare_communicators(device_list const& devices);
[[gnu::cold]] LOCUS_FUNCTION void rebuild_communicators(device_list const& devices);
[[gnu::cold]] LOCUS_FUNCTION void take_communicators(device_list const& devices, void* const* comms,
                                                     int count);

}  // namespace detail

namespace collective {

/// means: makes the communicators of these devices and checks them with a first sum. Otherwise a
///        plan makes them at its first all-reduce; call this function before a plan that is timed.
///        A Trainer calls it in its constructor
/// cost:  seconds on real cards, the first time
/// fails: collective_error
template <device_policy Devices>
void prepare() {
  detail::prepare_communicators(detail::named_devices(Devices::value.devices));
}
/// means: the next collective over these devices makes new communicators
/// after: a collective_error, once its cause is removed
template <device_policy Devices>
void rebuild() {
  detail::rebuild_communicators(detail::named_devices(Devices::value.devices));
}
/// means: collectives over these devices use the program's own NCCL communicators (ncclComm_t): one
///        for each card, in the order of the list. The program keeps them: it destroys them after
///        the last collective and after `rebuild<Devices>()`
/// fails: collective_error, when their number, ranks or cards do not match the list
template <device_policy Devices>
void use_communicator(void* const* comms, int count) {
  detail::take_communicators(detail::named_devices(Devices::value.devices), comms, count);
}

}  // namespace collective

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/rebuild.hpp>  // bodies of the functions above
#endif
