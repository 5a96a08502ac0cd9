// SPDX-License-Identifier: Apache-2.0
// What a warp's addresses ask of memory.
#pragma once
#include <cstdint>

#include "../machine/program.hpp"

namespace ptx::counts {

/// The addresses of the lanes that take part, in the order of the lanes.
struct addresses {
  std::uint64_t of[lane_count];
  int count = 0;
  unsigned bytes = 0;  // of each lane
  mask lanes = 0;
};

struct request {
  std::uint64_t sectors[lane_count];  // their numbers, each once
  int sector_count = 0, line_count = 0, whole_sectors = 0;
  std::uint64_t useful_bytes = 0;
  std::uint64_t ideal_sectors() const { return (useful_bytes + 31) / 32; }
};
/// of global memory, where no lane's bytes cross a sector
request request_of(addresses const& a);

/// of shared memory: 32 banks of 4 bytes; lanes of 8 bytes go in halves of a warp, of 16 in quarters
struct turns {
  unsigned wavefronts = 0, ideal = 0;
};
turns turns_of(addresses const& a);

}  // namespace ptx::counts
