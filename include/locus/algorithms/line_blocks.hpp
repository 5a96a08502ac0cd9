// SPDX-License-Identifier: Apache-2.0
// Blocks of lines as tasks of the threads: lines may be more than tasks can be, and short.
#pragma once
#include <locus/core/macros.hpp>      // LOCUS_MODE
#include <locus/runtime/threads.hpp>  // parallel_ranges

namespace locus::algorithms::host {
inline namespace LOCUS_MODE {

/// means: body(first, end) for blocks that hold the lines 0 ... lines - 1, each line once; n: the
///        length of a line
/// cost:  a block has at least 4096 numbers where the lines are enough, and 64 blocks a thread are
///        the most
template <class Body>
void for_blocks_of_lines(std::int64_t lines, std::int64_t n, int threads, Body const& body) {
  parallel_ranges(lines, n < 4096 ? 4096 / (n > 0 ? n : 1) : 1, threads, body);
}

}  // namespace LOCUS_MODE
}  // namespace locus::algorithms::host
