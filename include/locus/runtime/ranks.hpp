// SPDX-License-Identifier: Apache-2.0
// The ranks of a program: one process each. A rank carrier (locus/mpi.hpp) joins them.
#pragma once
#include <locus/device/open.hpp>  // rank_numbers

namespace locus::runtime {

/// The number of this rank and of all ranks; a program without a carrier is one rank.
inline constinit rank_numbers this_rank{};

}  // namespace locus::runtime
