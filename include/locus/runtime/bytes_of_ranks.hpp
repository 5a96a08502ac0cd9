// SPDX-License-Identifier: Apache-2.0
// The bytes of all ranks, as a gather brings them.
#pragma once
#include <cstdint>  // int64_t
#include <vector>   // vector

#include <locus/core/compiler.hpp>  // what a compiler must have

namespace locus::runtime {

/// One rank's bytes after another's: those of rank r are [ends[r - 1], ends[r]).
struct bytes_of_ranks {
  std::vector<char> bytes;
  std::vector<std::int64_t> ends;
};

}  // namespace locus::runtime
