// SPDX-License-Identifier: Apache-2.0
// What counting needs to know of each instruction of a program, found once.
#pragma once
#include <vector>

#include "weights.hpp"

namespace ptx::counts {

struct instruction_facts {
  weight of;
  std::uint8_t bytes = 0;  // of a lane, in memory
  bool loads = false, stores = false, atomics = false;
  bool past_first_cache = false;
  bool copies = false, copies_in_bulk = false;  // to shared memory: cp.async, cp.async.bulk
  bool waits_for_copies = false, is_branch = false, prefetches = false;
  std::vector<std::int32_t> from, to;  // numbers of registers
};
/// one for each instruction of the code
std::vector<instruction_facts> facts_of(program const& p);

}  // namespace ptx::counts
