// SPDX-License-Identifier: Apache-2.0
// Communicators on request: before the first step, anew after a failure, or the program's own.
#pragma once
#include <locus/backend/all_gpus.hpp>  // visible_gpus
#include <locus/collective/group.hpp>  // communicators_for
#include <locus/core/config.hpp>       // LOCUS_COLD_BEGIN
#include <locus/device/policy.hpp>     // device_policy

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

inline replica_topology cards_of(device_list const& devices, std::string_view what) {
  replica_topology const t = look_at(devices);
  if (t.uses_nccl()) return t;
  message text;
  text << "locus: collective::" << what << ": NCCL carries nothing over";
  for (int r = 0; r < devices.size(); ++r) text << " " << devices[r];
  throw collective_error(text << ", which is done by " << sentence(t.how)
                              << "; name GPUs on several cards",
                         what, -1, -1, 0);
}
inline device_list named_devices(device_list const& devices) {
  return devices.is_all_gpus() ? runtime::visible_gpus() : devices;
}
[[gnu::cold]] inline void prepare_communicators(device_list const& devices) {
  replica_topology const t = look_at(devices);
  if (t.uses_nccl()) communicators_for(t, {"collective::prepare", -1});
}
[[gnu::cold]] inline void rebuild_communicators(device_list const& devices) {
  replica_topology const t = look_at(devices);
  if (!t.uses_nccl()) return;
  lock_guard waiting(communicators().making);
  communicators().remove(t.representatives());
}
[[gnu::cold]] inline void take_communicators(device_list const& devices, void* const* comms,
                                             int count) {
  constexpr std::string_view what = "use_communicator";
  replica_topology const t = cards_of(devices, what);
  message text;
  auto refuse = [&](int rank) {
    throw collective_error(text << "; give one communicator of each card, in the order of the list",
                           what, -1, rank, 0);
  };
  text << "locus: collective::use_communicator: ";
  if (count != t.ranks) {
    text << count << " communicators for " << t.ranks << " cards";
    refuse(-1);
  }
  runtime::nccl_api const* const api = nccl_of(t.on[t.first[0]]->how);
  for (int p = 0; p < count; ++p) {
    int size = -1, rank = -1, card = -1;
    int const code = !comms[p]                          ? int(runtime::nccl_invalid_argument)
                     : api->rank_count(comms[p], &size) ? int(runtime::nccl_invalid_argument)
                     : api->rank_of(comms[p], &rank)    ? int(runtime::nccl_invalid_argument)
                                                        : api->card_of(comms[p], &card);
    logical_device const& d = *t.on[t.first[p]];
    if (code != 0)
      text << "number " << p << " is none";
    else if (size != count)
      text << "number " << p << " has " << size << " ranks, and the list " << count << " cards";
    else if (rank != p)
      text << "number " << p << " is rank " << rank;
    else if (card != d.card)
      text << "number " << p << " is of card " << card << ", and " << d.name << " is on card "
           << int(d.card);
    else
      continue;
    refuse(p);
  }
  rebuild_communicators(devices);
  communicator_registry& all = communicators();
  lock_guard hold(all.lock);
  communicator_set* const s = all.sets.push(empty_set(t, api));
  for (int p = 0; p < count; ++p) s->comm[p] = comms[p];
  s->owned = false, s->ready = s->tried = true;
}

}  // namespace detail

namespace collective {

/// means: these devices have communicators, which have carried a first sum. A plan makes them before its
///        first step; this call keeps that out of a plan that is timed. A Trainer does it
///        when it is made
/// cost:  seconds on real cards, the first time
/// fails: collective_error
template <device_policy Devices>
void prepare() {
  detail::prepare_communicators(detail::named_devices(Devices::value.devices));
}
/// means: communicators for these devices are made anew when they are next needed
/// after: a collective_error, whose cause is gone
template <device_policy Devices>
void rebuild() {
  detail::rebuild_communicators(detail::named_devices(Devices::value.devices));
}
/// means: collectives over these devices use the program's own NCCL communicators (ncclComm_t): one
///        of each card, in the order of the list. They stay the program's: it ends them, after the
///        last collective and after `rebuild<Devices>()`
/// fails: collective_error, when their number, ranks or cards are others
template <device_policy Devices>
void use_communicator(void* const* comms, int count) {
  detail::take_communicators(detail::named_devices(Devices::value.devices), comms, count);
}

}  // namespace collective

}  // namespace locus

LOCUS_COLD_END
