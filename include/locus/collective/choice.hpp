// SPDX-License-Identifier: Apache-2.0
// Which algorithm carries out a reduction over replicas: one row for each kind of device list.
#pragma once
#include <string_view>  // string_view

#include <locus/core/macros.hpp>    // LOCUS_COLD_BEGIN
#include <locus/device/device.hpp>  // max_devices

LOCUS_COLD_BEGIN

namespace locus {

/// The kind of a list of logical devices; which of them share a card is known at start-up.
enum class list_kind : unsigned char {
  one,             // a single device
  hosts,           // memory of the host alone
  one_card,        // several logical GPUs of one card
  distinct_cards,  // each GPU is a card of its own
  shared_cards,    // several cards, one of them divided into several GPUs of the list
  mixed,           // GPUs and the host
};

enum class collective_algorithm : unsigned char {
  nothing,
  host_fold,
  card_fold,
  nccl,
  hierarchical,
  through_host,
  over_ranks,
};

struct choice_row {
  list_kind list;
  collective_algorithm with_nccl, without_nccl;
};
/// The table. The second column is for programs without NCCL: it is not installed, or they chose
/// the host.
inline constexpr choice_row choices[] = {
    {list_kind::one, collective_algorithm::nothing, collective_algorithm::nothing},
    {list_kind::hosts, collective_algorithm::host_fold, collective_algorithm::host_fold},
    {list_kind::one_card, collective_algorithm::card_fold, collective_algorithm::card_fold},
    {list_kind::distinct_cards, collective_algorithm::nccl, collective_algorithm::through_host},
    {list_kind::shared_cards, collective_algorithm::hierarchical,
     collective_algorithm::through_host},
    {list_kind::mixed, collective_algorithm::through_host, collective_algorithm::through_host},
};
constexpr collective_algorithm choose(list_kind list, bool has_nccl) {
  choice_row const& row = choices[static_cast<int>(list)];
  return has_nccl ? row.with_nccl : row.without_nccl;
}
constexpr std::string_view sentence(collective_algorithm a) {
  constexpr std::string_view texts[] = {
      "nothing to do",
      "a fold on the host",
      "a fold in the card",
      "NCCL",
      "folds in the cards and NCCL among them",
      "copies and a fold on the host",
      "a fold on the host of each rank, then among the ranks",
  };
  return texts[static_cast<int>(a)];
}

/// cards[k]: the card of device k; -1: the host
constexpr list_kind kind_of_list(short const* cards, int count) {
  if (count == 1) return list_kind::one;
  bool host = false, gpu = false, shared = false, several = false;
  for (int k = 0; k < count; ++k) {
    (cards[k] < 0 ? host : gpu) = true;
    several = several || cards[k] != cards[0];
    for (int j = 0; j < k; ++j) shared = shared || cards[j] == cards[k];
  }
  return host && gpu ? list_kind::mixed
         : host      ? list_kind::hosts
         : !several  ? list_kind::one_card
         : shared    ? list_kind::shared_cards
                     : list_kind::distinct_cards;
}

}  // namespace locus

LOCUS_COLD_END
