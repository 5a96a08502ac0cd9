// SPDX-License-Identifier: Apache-2.0
// The cards of all ranks, as each rank tells them when it joins: NCCL numbers the cards of a device
// list through all ranks.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/runtime/ranks.hpp>  // this_rank

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// The GPUs of one rank: plain bytes.
struct rank_cards {
  static constexpr int most = 16;  // a list of GPUs with a higher ordinal does without NCCL
  signed char gpus = 0;            // logical ones
  bool has_nccl = false;
  signed char card_of[most]{};     // [logical GPU]: the first logical GPU of its card
  std::uint64_t identity[most]{};  // [logical GPU]: of its card on all hosts; 0: of no other rank
};

/// The numbers of a list's cards in NCCL: those of this rank begin with `before`.
struct nccl_numbers {
  int before = 0, all = 0;  // all = 0: NCCL does not carry this list
};

struct rank_card_table {
  rank_cards const* of = nullptr;  // [rank]; null: NCCL joins no ranks
  int version = 0;                 // counts the changes
};
LOCUS_SHARED_STATE inline constinit rank_card_table cards_of_ranks{};

/// means: the number of cards that a list has on rank r; 0: a device of the list is no card there
inline int count_cards(rank_cards const& r, device_list const& here) {
  bool const own = here.has_own_count();
  int const n = !own ? here.size() : r.gpus < max_devices ? r.gpus : max_devices;
  int cards = 0;
  bool seen[rank_cards::most]{};  // [its first logical GPU]
  for (int k = 0; k < n; ++k) {
    device const d = own ? gpu(k) : here[k];
    if (!d.is_gpu() || d.ordinal() >= r.gpus || d.ordinal() >= rank_cards::most) return 0;
    bool& known = seen[static_cast<int>(r.card_of[d.ordinal()])];
    cards += !known, known = true;
  }
  return cards;
}

/// means: NCCL's numbers for a list over ranks, equal on all ranks
/// cost:  a loop over all ranks; the last list of a thread is remembered
inline nccl_numbers nccl_numbers_of(device_list const& here) {
  struct remembered {
    device_list list{};
    nccl_numbers numbers{};
    int version = -1;
  };
  static thread_local constinit remembered last{};
  rank_card_table const& all = cards_of_ranks;
  if (last.version == all.version && last.list == here) return last.numbers;
  nccl_numbers n;
  for (int r = 0; r < this_rank.ranks && all.of; ++r) {
    int const cards = count_cards(all.of[r], here);
    if (cards == 0) {
      n = {};
      break;
    }
    if (r < this_rank.rank) n.before += cards;
    n.all += cards;
  }
  last = {here, n, all.version};
  return n;
}

}  // namespace locus::runtime

LOCUS_COLD_END
