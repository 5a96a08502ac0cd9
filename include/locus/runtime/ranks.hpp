// SPDX-License-Identifier: Apache-2.0
// The ranks of a program: one process each. A carrier (locus/mpi.hpp) joins them.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE
#include <locus/device/open.hpp>  // rank_numbers

namespace locus::runtime {

/// The number of this rank and of all ranks; a program without a carrier is one rank.
LOCUS_SHARED_STATE inline constinit rank_numbers this_rank{};
/// The same for names of files: it stays when the ranks end, since each process still writes files.
LOCUS_SHARED_STATE inline constinit rank_numbers rank_of_files{};

/// -1: of a program with one rank
inline int rank_or_none() { return this_rank.ranks > 1 ? this_rank.rank : -1; }
/// means: values over these devices lie on several ranks
inline bool lies_on_ranks(device_list const& all) {
  return all.is_over_ranks() && this_rank.ranks > 1;
}

}  // namespace locus::runtime
