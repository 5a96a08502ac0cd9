// SPDX-License-Identifier: Apache-2.0
// How the PTX machine's NCCL sees the ranks of a program, which exports this name.
#pragma once
#include <locus/runtime/rank_carrier.hpp>

extern "C" __attribute__((visibility("default"))) void ptx_ranks(
    locus::runtime::rank_carrier const** by, locus::rank_numbers* ranks);
extern "C" void ptx_ranks(locus::runtime::rank_carrier const** by, locus::rank_numbers* ranks) {
  *by = locus::runtime::ranks_by, *ranks = locus::runtime::this_rank;
}
