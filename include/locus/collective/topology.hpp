// SPDX-License-Identifier: Apache-2.0
// The cards of a device list: which replicas share a card, and the algorithm for collectives.
#pragma once
#include <locus/backend/devices.hpp>         // devices
#include <locus/backend/simulated/nccl.hpp>  // nccl_table
#include <locus/collective/choice.hpp>       // collective_algorithm
#include <locus/core/macros.hpp>             // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/collective_settings.hpp>  // chosen_for_collectives, collective_choices, reduction_order
#include <locus/runtime/nccl_api.hpp>    // nccl_api
#include <locus/runtime/rank_cards.hpp>  // nccl_numbers_of
#include <locus/watch/event.hpp>         // log_line
#include <locus/watch/log.hpp>           // warn

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {
/// the first version of NCCL with nonblocking communicators
inline constexpr int oldest_nccl = 21400;

/// The version of NCCL in a table of functions, asked once.
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
/// warns once: there are several cards, but NCCL is missing
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
/// warns once: NCCL takes each GPU only once
LOCUS_SHARED_STATE [[gnu::cold]] inline void warn_of_slices(device a, device b) {
  static constinit bool said = false;
  if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) return;
  log_line line;
  runtime::warn(
      line << "locus: " << a << " and " << b
           << " are on one GPU (slices of MIG, or a card that is listed twice), which NCCL "
              "refuses: reductions over them go through the host");
}
/// means: two CUDA devices are slices of one GPU on the bus
LOCUS_FUNCTION bool are_one_gpu(logical_device const& a, logical_device const& b);
}  // namespace detail

/// means: NCCL's functions for a device; null where there are none
LOCUS_FUNCTION runtime::nccl_api const* nccl_of(logical_device const& d);

/// Replicas, and the cards they are on. Rank p is the p-th card, in the order of the replicas.
struct replica_topology {
  int count = 0, ranks = 0;
  logical_device* on[max_devices]{};
  int rank[max_devices]{};   // [replica]; -1: the host
  int first[max_devices]{};  // [rank]: the replica whose device represents the card
  collective_algorithm how = collective_algorithm::nothing;
  reduction_order order = reduction_order::fast;
  runtime::nccl_numbers numbers{};  // over ranks: those of the cards of all ranks
  bool shares_cards = false;        // some card has several replicas; over ranks, of any rank

  bool is_first(int r) const { return rank[r] >= 0 && first[rank[r]] == r; }
  int on_card(int p) const;
  /// one kernel can read all terms
  bool in_reach() const;
  bool uses_nccl() const {
    return how == collective_algorithm::nccl || how == collective_algorithm::hierarchical;
  }
  /// over ranks: NCCL carries an all-reduce among the cards of all ranks
  bool has_nccl_among_ranks() const { return numbers.all > 0; }
  /// the devices that represent their cards
  device_list representatives() const;
};

/// means: the cards of these devices now, the algorithm of their collectives, and the order of
///        ranks
LOCUS_FUNCTION replica_topology
look_at(device_list const& devices,
        runtime::collective_choices const& chosen = runtime::chosen_for_collectives());

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/topology.hpp>  // bodies of the functions above
#endif
