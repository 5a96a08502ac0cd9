// SPDX-License-Identifier: Apache-2.0
// What stands behind a device list: which replicas share a card, and who carries their collectives.
#pragma once
#include <locus/backend/devices.hpp>              // find_device
#include <locus/backend/simulated/nccl.hpp>       // nccl_table
#include <locus/collective/choice.hpp>            // choose
#include <locus/core/config.hpp>                  // LOCUS_COLD_BEGIN
#include <locus/runtime/collective_settings.hpp>  // collectives
#include <locus/runtime/nccl_api.hpp>             // nccl
#include <locus/runtime/physical.hpp>             // physical

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {
/// the first version with nonblocking communicators
inline constexpr int oldest_nccl = 21400;

/// What is known of a table of NCCL's functions: asked once.
struct nccl_facts {
  runtime::nccl_api const* of = nullptr;
  int code = 0, version = 0;
  bool usable() const { return of && code == 0 && version >= oldest_nccl; }
};
LOCUS_SHARED_STATE inline nccl_facts const& facts_of_nccl(runtime::nccl_api const* api) {
  static constinit nccl_facts known[2];  // simulated, and NCCL itself or a recorded one
  static constinit mutex lock;
  nccl_facts& f = known[api == &simulated::nccl_table ? 0 : 1];
  lock_guard hold(lock);
  if (f.of != api) {
    nccl_facts now{api, 0, 0};
    if (api) now.code = api->version(&now.version);
    f = now;
  }
  return f;
}
/// said once: cards are there, and NCCL is not
LOCUS_SHARED_STATE [[gnu::cold]] inline void warn_without_nccl(nccl_facts const& f) {
  static constinit bool said = false;
  if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) return;
  log_line line;
  line << "locus: reductions over several cards go through the host: ";
  if (!f.of)
    line << "this program has no NCCL";
  else if (f.code != 0)
    line << std::string_view(f.of->describe(f.code));
  else
    line << "NCCL " << f.version << " is older than 2.14; update it";
  runtime::warn(line);
}
/// said once: NCCL takes a GPU once
LOCUS_SHARED_STATE [[gnu::cold]] inline void warn_of_slices(device a, device b) {
  static constinit bool said = false;
  if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) return;
  log_line line;
  runtime::warn(
      line << "locus: " << a << " and " << b
           << " are on one GPU (slices of MIG, or a card that is listed twice), which NCCL "
              "refuses: reductions over them go through the host");
}
/// means: two cards of CUDA that are one GPU on the bus
inline bool are_one_gpu(logical_device const& a, logical_device const& b) {
  if (a.how != backing::cuda || b.how != backing::cuda || a.card == b.card) return false;
  std::string_view const bus = runtime::physical.cards[a.card].bus;
  return !bus.empty() && bus == std::string_view(runtime::physical.cards[b.card].bus);
}
}  // namespace detail

/// means: NCCL's functions for devices of that backing; null where there are none
inline runtime::nccl_api const* nccl_of(runtime::backing how) {
  return how == backing::simulated ? &simulated::nccl_table
         : how == backing::cuda    ? runtime::nccl
                                   : nullptr;
}

/// Replicas, and the cards they are on. Rank p is the p-th card, in the order of the replicas.
struct replica_topology {
  int count = 0, ranks = 0;
  logical_device* on[max_devices]{};
  int rank[max_devices]{};   // [replica]; -1: the host
  int first[max_devices]{};  // [rank]: the replica that stands for its card
  collective_algorithm how = collective_algorithm::nothing;
  reduction_order order = reduction_order::fast;

  bool is_first(int r) const { return rank[r] >= 0 && first[rank[r]] == r; }
  int on_card(int p) const {
    int n = 0;
    for (int r = 0; r < count; ++r) n += rank[r] == p;
    return n;
  }
  /// one kernel can read all terms
  bool in_reach() const {
    return how == collective_algorithm::host_fold || how == collective_algorithm::card_fold ||
           how == collective_algorithm::nothing;
  }
  bool uses_nccl() const {
    return how == collective_algorithm::nccl || how == collective_algorithm::hierarchical;
  }
  /// the devices that stand for their cards
  device_list representatives() const {
    device_list all;
    for (int p = 0; p < ranks; ++p) all.push(on[first[p]]->name);
    return all;
  }
};

/// means: what stands behind these devices now, who carries their collectives, and in what order
inline replica_topology look_at(
    device_list const& devices,
    runtime::collective_choices const& chosen = runtime::chosen_for_collectives()) {
  replica_topology t;
  t.count = devices.size(), t.order = chosen.order;
  short cards[max_devices];
  backing how = backing::host;
  for (int r = 0; r < t.count; ++r) {
    logical_device& d = runtime::find_device(devices[r]);
    t.on[r] = &d, t.rank[r] = -1;
    cards[r] = d.how == backing::host ? short(-1) : d.card;
    if (d.how == backing::host) continue;
    how = d.how;
    for (int p = 0; p < t.ranks && t.rank[r] < 0; ++p)
      if (t.on[t.first[p]]->card == d.card) t.rank[r] = p;
    if (t.rank[r] < 0) t.first[t.ranks] = r, t.rank[r] = t.ranks++;
  }
  list_kind const kind = kind_of_list(cards, t.count);
  bool has_nccl = false;
  bool const asks = (kind == list_kind::distinct_cards || kind == list_kind::shared_cards) &&
                    chosen.carrier == cross_device_ops::automatic;
  if (asks) {
    detail::nccl_facts const& f = detail::facts_of_nccl(nccl_of(how));
    has_nccl = f.usable();
    if (!has_nccl) detail::warn_without_nccl(f);
    for (int p = 0; p < t.ranks && has_nccl; ++p)
      for (int q = 0; q < p && has_nccl; ++q) {
        logical_device const &a = *t.on[t.first[q]], &b = *t.on[t.first[p]];
        if (!detail::are_one_gpu(a, b)) continue;
        detail::warn_of_slices(a.name, b.name), has_nccl = false;
      }
  }
  t.how = choose(kind, has_nccl);
  return t;
}

}  // namespace locus

LOCUS_COLD_END
