// SPDX-License-Identifier: Apache-2.0
// This process becomes a rank of a program, and ends to be one.
#pragma once
#include <locus/backend/all_gpus.hpp>           // visible_gpus
#include <locus/collective/cards_of_ranks.hpp>  // tell_cards
#include <locus/core/macros.hpp>                // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/over_ranks.hpp>             // functions_over_ranks

LOCUS_COLD_BEGIN

namespace locus::internal {

/// means: this process is rank `rank` of `ranks`, joined by a carrier. All ranks call it; each says
///        how many GPUs it has, and on which cards: NCCL carries all-reduces among cards of all
///        ranks if each rank has NCCL and no card belongs to two ranks
/// fails: configuration_error, if it is a rank already, or for more than 8191 ranks; collective_error, if a rank does not come
LOCUS_FUNCTION void join_ranks(runtime::rank_carrier const& by, int rank, int ranks);
/// means: the process is one rank again; the carrier may end
LOCUS_FUNCTION void leave_ranks();

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/join_ranks.hpp>  // bodies of the functions above
#endif
