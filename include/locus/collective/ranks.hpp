// SPDX-License-Identifier: Apache-2.0
// Collectives between the ranks of a program: all ranks say which collective they begin, before the
// first byte moves; then a carrier moves the bytes. Only a program with a carrier includes this
// header (locus/mpi.hpp, testing/ranks.hpp).
#pragma once
#include <locus/collective/error.hpp>           // collective_error
#include <locus/collective/rank_functions.hpp>  // rank_functions
#include <locus/collective/reduce.hpp>          // reduction_job
#include <locus/core/call_site.hpp>             // call_site
#include <locus/core/macros.hpp>                // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/rank_carrier.hpp>       // ranks_by
#include <locus/runtime/ranks.hpp>              // this_rank

LOCUS_COLD_BEGIN

namespace locus::internal {

/// A collective as its ranks announce it: plain bytes, equal on all ranks of a program that goes
/// the same way.
struct rank_point {
  std::uint64_t number = 0;  // of the collectives of this rank
  std::uint64_t plan = 0;    // hash of plan, extents and number of the run; 0: no plan
  std::int64_t bytes = 0;
  char operation[24]{};
  char site[64]{};        // file and line of the statement, if it has them
  std::int64_t said = 0;  // a number of this rank that is not compared
};

/// The run to which the collectives of this thread belong.
struct rank_run {
  std::uint64_t plan = 0;
  call_site site{};
};
LOCUS_SHARED_STATE inline thread_local constinit rank_run run_over_ranks{};

/// means: counts a run whose plan has collectives between ranks, and returns its number. Where the kernel
///        of one rank fails before a collective and that rank goes on, the number tells its next run
///        from the run of the other ranks
LOCUS_FUNCTION std::uint64_t count_run();
/// means: a collective of this rank, its number the next one
LOCUS_FUNCTION rank_point point_of(std::string_view operation, std::int64_t bytes);
/// means: the last collective that this rank began; its number is 0 before the first
LOCUS_FUNCTION rank_point const& point_now();
/// means: the text of the failure after which the ranks are no longer in step; empty: none
LOCUS_FUNCTION std::string_view failure_of_ranks();
/// means: writes operation, bytes and line of a collective
LOCUS_FUNCTION message& write_point(message& text, rank_point const& p);
/// means: waits until all ranks have announced their collectives; all[r]: that of rank r, where
///        `all` is not null
/// cost:  an all-gather of 120 bytes
/// fails: collective_error: two ranks have announced different collectives, or a rank has announced
///        none in time: it names the rank, its host, its plan and its line. Later collectives
///        between ranks fail, too
LOCUS_FUNCTION void meet_ranks(rank_point const& mine, rank_point* all = nullptr);

/// means: throws collective_error, unless the carrier succeeded
LOCUS_FUNCTION void require_carried(runtime::rank_failure const& f, rank_point const& mine);
/// units: seconds that a collective may take
LOCUS_FUNCTION double seconds_for_ranks();

/// means: see rank_functions
LOCUS_FUNCTION void gather_from_ranks(std::string_view operation, void const* mine,
                                      std::int64_t bytes, runtime::bytes_of_ranks& all);
LOCUS_FUNCTION void begin_elsewhere(std::string_view operation, std::int64_t bytes);
LOCUS_FUNCTION void give_up_ranks(std::string_view text);
LOCUS_FUNCTION std::int64_t tell_ranks(std::string_view operation, std::int64_t mine,
                                       std::int64_t& before);
LOCUS_FUNCTION void share_with_ranks(std::string_view operation, void* data, std::int64_t bytes,
                                     int root);
/// means: the collectives of this process are counted from the first again
LOCUS_FUNCTION void begin_in_step();

/// Values of a bucket with fewer bytes travel as one array. A thread wakes in the time of their fold.
inline constexpr std::int64_t bytes_alone = 64 << 10;
/// means: see rank_functions::fold. fast: the terms of a rank are folded, then the carrier adds the
///        results; ranked, or where the carrier has no addition: the fold of replicas 0, 1, 2, ...
///        goes from rank to rank in segments, and the last rank sends the results to all: the bits
///        of one process with all replicas
/// cost:  ranked: 2 n bytes sent and received by each rank; latency of a message times ranks
LOCUS_FUNCTION void fold_over_ranks(host_reduction const* bucket, int n, reduction_order order,
                                    collective_name const& name);
/// means: a thread is ready for folds of so many bytes: large ones, and small ones behind them, where
///        any thread may call the carrier and a processor is free, or the user says so
LOCUS_FUNCTION bool prepare_beside(std::int64_t bytes);
/// means: fold_over_ranks on that thread. Other collectives of this rank wait for it
LOCUS_FUNCTION stamp start_over_ranks(host_reduction const* bucket, int n, reduction_order order,
                                      collective_name const& name);

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/ranks.hpp>  // bodies of the functions above
#endif
