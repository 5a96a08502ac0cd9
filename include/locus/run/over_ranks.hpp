// SPDX-License-Identifier: Apache-2.0
// The transfers of a run between the ranks of a program. NCCL carries values between the cards of all
// ranks; others cross in host memory: packed by the rank that has them, carried, unpacked by the ranks
// that need them. Only a program with a carrier includes this header.
#pragma once
#include <locus/collective/ranks.hpp>  // fold_over_ranks
#include <locus/core/macros.hpp>       // LOCUS_RUN_MODE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/run/run.hpp>           // run_plan: its kernels on GPUs
#include <locus/run/run_state.hpp>     // run_state

LOCUS_COLD_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: the collectives that follow belong to this run: messages name its statement
LOCUS_FUNCTION void begin_over_ranks(run_state const& run);
/// means: they belong to no run
LOCUS_FUNCTION void end_over_ranks();
/// means: counts the memory of a transfer between ranks
LOCUS_FUNCTION void foresee_between_ranks(run_state& run, transfer const& me);
/// means: broadcast and scatter: the value of rank 0 to all ranks; gather and all_gather: the pieces
///        of all ranks to every rank
LOCUS_FUNCTION void move_between_ranks(run_state& run, transfer const& me);
/// means: halo: rows to the margins of neighbours on other ranks, unless the margins are valid on all
///        ranks     returns: they are
LOCUS_FUNCTION bool exchange_between_ranks(run_state& run, transfer const& me, bool valid);

inline constexpr runtime::rank_functions functions_over_ranks{
    begin_over_ranks,           end_over_ranks,
    internal::fold_over_ranks,  internal::prepare_beside,
    internal::start_over_ranks, foresee_between_ranks,
    move_between_ranks,         exchange_between_ranks,
    internal::tell_ranks,       internal::gather_from_ranks,
    internal::begin_elsewhere,  internal::give_up_ranks,
    internal::share_with_ranks};

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/over_ranks.hpp>  // bodies of the functions above
#endif
