// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/cards_of_ranks.hpp declares.
#pragma once
#include <algorithm>  // copy, sort
#include <vector>     // vector

#include <locus/collective/cards_of_ranks.hpp>  // the declarations
#include <locus/collective/communicators.hpp>   // communicators
#include <locus/collective/ranks.hpp>           // require_carried, write_rank
#include <locus/collective/topology.hpp>        // nccl_of, facts_of_nccl
#include <locus/core/environment.hpp>           // from_environment
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/machine/physical.hpp>           // physical

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: a hash of a card's place among all hosts, by the rules of NCCL: NCCL_HOSTID, where it is
///        set, stands for the name of the host
/// after: the FNV-1a hash
LOCUS_FUNCTION std::uint64_t identity_of_card(logical_device const& d) {
  if (!d.is_card() || !runtime::physical.cards[d.card].bus[0]) return 0;
  char const* const named = from_environment("NCCL_HOSTID");
  std::uint64_t hash = 14695981039346656037u;
  for (std::string_view const text :
       {std::string_view(named && *named ? named
                                         : runtime::ranks_by->host_of(runtime::this_rank.rank)),
        std::string_view(runtime::physical.cards[d.card].bus)})
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash | 1;
}

LOCUS_FUNCTION runtime::rank_cards cards_of_this_rank(int gpus) {
  using runtime::rank_cards;
  rank_cards mine;
  mine.gpus = static_cast<signed char>(gpus < rank_cards::most ? gpus : int(rank_cards::most));
  for (int k = 0; k < mine.gpus; ++k) {
    logical_device const& d = runtime::find_device(gpu(k));
    if (k == 0) mine.has_nccl = facts_of_nccl(nccl_of(d)).usable();
    int first = 0;
    while (runtime::find_device(gpu(first)).card != d.card) ++first;
    mine.card_of[k] = static_cast<signed char>(first);
    if (first == k) mine.identity[k] = identity_of_card(d);
  }
  return mine;
}

/// means: why NCCL cannot join the cards of these ranks; empty: it can
LOCUS_FUNCTION message reason_without_nccl(std::vector<runtime::rank_cards> const& all) {
  message why;
  struct card {
    std::uint64_t identity;
    int rank;
  };
  std::vector<card> cards;
  for (int r = 0; r < runtime::this_rank.ranks; ++r) {
    runtime::rank_cards const& mine = all[static_cast<std::size_t>(r)];
    if (mine.gpus > 0 && !mine.has_nccl) {
      write_rank(why, r) << " has GPUs, and no NCCL of version 2.14 or later; install it there";
      return why;
    }
    for (std::uint64_t const id : mine.identity)
      if (id != 0) cards.push_back({id, r});
  }
  std::sort(cards.begin(), cards.end(), [](card const& a, card const& b) {
    return a.identity != b.identity ? a.identity < b.identity : a.rank < b.rank;
  });
  for (std::size_t k = 1; k < cards.size(); ++k)
    if (cards[k].identity == cards[k - 1].identity) {
      write_rank(why, cards[k - 1].rank) << " and ";
      write_rank(why, cards[k].rank)
          << " use one GPU, which NCCL refuses; start one rank on each host, or give each rank its "
             "own GPUs: examples/tools/ranks.sh --gpus-per-rank 1";
      return why;
    }
  return why;
}

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void tell_cards(int gpus) {
  using runtime::rank_cards;
  std::vector<rank_cards> all(static_cast<std::size_t>(runtime::this_rank.ranks));
  std::vector<std::int64_t> ends(all.size());
  for (std::size_t r = 0; r < ends.size(); ++r)
    ends[r] = std::int64_t(r + 1) * std::int64_t(sizeof(rank_cards));
  all[static_cast<std::size_t>(runtime::this_rank.rank)] = locus::detail::cards_of_this_rank(gpus);
  require_carried(runtime::ranks_by->all_gather(all.data(), ends.data(), seconds_for_ranks()),
                  point_now());
  message const why = locus::detail::reason_without_nccl(all);
  log_line line;
  if (why.view().empty()) {
    auto* const table = new rank_cards[all.size()];
    std::copy(all.begin(), all.end(), table);
    runtime::cards_of_ranks = {table, runtime::cards_of_ranks.version + 1};
  } else if (runtime::this_rank.rank == 0)
    runtime::warn(line << "locus: NCCL does not carry values between ranks: " << why.view());
}

LOCUS_FUNCTION void forget_cards() {
  locus::detail::communicators().forget_ranks();
  delete[] runtime::cards_of_ranks.of;
  runtime::cards_of_ranks = {nullptr, runtime::cards_of_ranks.version + 1};
}

}  // namespace locus::internal

LOCUS_COLD_END
