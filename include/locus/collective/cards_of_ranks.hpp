// SPDX-License-Identifier: Apache-2.0
// Ranks tell each other their cards, so that NCCL can number them.
#pragma once
#include <vector>  // vector

#include <locus/core/error.hpp>          // message
#include <locus/core/macros.hpp>         // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/rank_cards.hpp>  // rank_cards

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: why NCCL does not join the cards of all ranks; empty: it does
LOCUS_FUNCTION message reason_without_nccl(std::vector<runtime::rank_cards> const& all);

}  // namespace locus::detail

namespace locus::internal {

/// means: all ranks tell their cards, of the first `gpus` logical GPUs. Rank 0 warns where NCCL
///        cannot join them: a rank has GPUs and no NCCL, or two ranks use one card
LOCUS_FUNCTION void tell_cards(int gpus);
/// means: the process is one rank again; communicators that join cards of ranks end
LOCUS_FUNCTION void forget_cards();

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/cards_of_ranks.hpp>  // bodies of the functions above
#endif
