// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/rebuild.hpp declares.
#pragma once
#include <locus/collective/error.hpp>    // collective_error
#include <locus/collective/group.hpp>    // communicators_for
#include <locus/collective/rebuild.hpp>  // the declarations
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION replica_topology cards_of(device_list const& devices, std::string_view what) {
  replica_topology const t = look_at(devices);
  if (t.uses_nccl()) return t;
  message text;
  text << "locus: collective::" << what << ": NCCL carries nothing over";
  for (int r = 0; r < devices.size(); ++r) text << " " << devices[r];
  throw collective_error(text << ", which is done by " << sentence(t.how)
                              << "; name GPUs on several cards",
                         what, -1, -1, 0);
}

LOCUS_FUNCTION void prepare_communicators(device_list const& devices) {
  replica_topology const t = look_at(devices);
  if (t.uses_nccl()) communicators_for(t, {"collective::prepare", -1});
}

LOCUS_FUNCTION void rebuild_communicators(device_list const& devices) {
  replica_topology const t = look_at(devices);
  if (!t.uses_nccl()) return;
  lock_guard waiting(communicators().making);
  communicators().remove(t.representatives());
}

LOCUS_FUNCTION void take_communicators(device_list const& devices, void* const* comms, int count) {
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
  runtime::nccl_api const* const api = nccl_of(*t.on[t.first[0]]);
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

}  // namespace locus::detail

LOCUS_COLD_END
