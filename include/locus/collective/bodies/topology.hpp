// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/topology.hpp declares.
#pragma once
#include <locus/collective/topology.hpp>  // the declarations
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>     // physical

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION bool are_one_gpu(logical_device const& a, logical_device const& b) {
  if (!a.is_card() || !b.is_card() || a.card == b.card) return false;
  std::string_view const bus = runtime::physical.cards[a.card].bus;
  return !bus.empty() && bus == std::string_view(runtime::physical.cards[b.card].bus);
}

}  // namespace locus::detail

namespace locus {

LOCUS_FUNCTION runtime::nccl_api const* nccl_of(logical_device const& d) {
  return d.is_simulated() ? &simulated::nccl_table : d.is_card() ? runtime::nccl : nullptr;
}

LOCUS_FUNCTION int replica_topology::on_card(int p) const {
  int n = 0;
  for (int r = 0; r < count; ++r) n += rank[r] == p;
  return n;
}

LOCUS_FUNCTION bool replica_topology::in_reach() const {
  return how == collective_algorithm::host_fold || how == collective_algorithm::card_fold ||
         how == collective_algorithm::nothing;
}

LOCUS_FUNCTION device_list replica_topology::representatives() const {
  device_list all;
  for (int p = 0; p < ranks; ++p) all.push(on[first[p]]->name);
  return has_nccl_among_ranks() ? all.among(numbers.before, numbers.all) : all;
}

LOCUS_FUNCTION replica_topology look_at(device_list const& devices,
                                        runtime::collective_choices const& chosen) {
  replica_topology t;
  t.count = devices.size(), t.order = chosen.order;
  short cards[max_devices];
  for (int r = 0; r < t.count; ++r) {
    logical_device& d = runtime::find_device(devices[r]);
    t.on[r] = &d, t.rank[r] = -1;
    cards[r] = d.is_host() ? short(-1) : d.card;
    if (d.is_host()) continue;
    for (int p = 0; p < t.ranks && t.rank[r] < 0; ++p)
      if (t.on[t.first[p]]->card == d.card) t.rank[r] = p;
    if (t.rank[r] < 0) t.first[t.ranks] = r, t.rank[r] = t.ranks++;
  }
  list_kind const kind = kind_of_list(cards, t.count);
  bool has_nccl = false;
  bool const on_ranks = runtime::lies_on_ranks(devices);
  bool const asks = !on_ranks &&
                    (kind == list_kind::distinct_cards || kind == list_kind::shared_cards) &&
                    chosen.carrier == cross_device_ops::automatic;
  if (asks) {
    detail::nccl_facts const& f = detail::facts_of_nccl(nccl_of(*t.on[t.first[0]]));
    has_nccl = f.usable();
    if (!has_nccl) detail::warn_without_nccl(f);
    for (int p = 0; p < t.ranks && has_nccl; ++p)
      for (int q = 0; q < p && has_nccl; ++q) {
        logical_device const &a = *t.on[t.first[q]], &b = *t.on[t.first[p]];
        if (!detail::are_one_gpu(a, b)) continue;
        detail::warn_of_slices(a.name, b.name), has_nccl = false;
      }
  }
  t.how = on_ranks ? collective_algorithm::over_ranks : choose(kind, has_nccl);
  if (on_ranks && chosen.carrier == cross_device_ops::automatic)
    t.numbers = runtime::nccl_numbers_of(devices);
  t.shares_cards = t.how == collective_algorithm::hierarchical ||
                   (t.has_nccl_among_ranks() && t.numbers.all != devices.total());
  return t;
}

}  // namespace locus

LOCUS_COLD_END
