// SPDX-License-Identifier: Apache-2.0
// What the machine looks for, and what it found.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "module.hpp"

namespace ptx {

/// What is found without ending the kernel.
enum class finding : std::uint8_t {
  shared_race,
  shared_unwritten,
  global_unwritten,
  stray_shuffle,
  divergent_barrier,
  global_race,
  misused_library
};
inline constexpr char const* finding_names[] = {"race in shared memory",
                                                "read of unwritten shared memory",
                                                "read of unwritten global memory",
                                                "shuffle from a lane that does not take part",
                                                "barrier in divergent code",
                                                "race between blocks in global memory",
                                                "misuse of a library"};
inline constexpr std::size_t finding_count = sizeof finding_names / sizeof *finding_names;

/// How the machine runs, by variables of the environment (README.md).
struct options {
  bool check_races = true, check_order = true, check_unwritten = true, abort = false;
  bool host_memory = false;  // kernels may use all memory of the host, as on machines that share it
  std::uint32_t seed = 0;    // of the order of warps; 0: as they are
  bool say_speed = false;
  std::string
      drops;  // in names of kernels that may read shared memory that nobody wrote; empty: none may
  /// A fault on purpose: instructions that are left out, or calls of a function of the runtime.
  struct fault_on_purpose {
    std::string what;     // "bar.sync", "ret" with a guard, "cudaStreamWaitEvent"; empty: none
    std::string in;       // in the name of the function that has it
    unsigned number = 0;  // which of them in each function, from 1; 0: all
  } without;
  static options& instance();
};
/// Sums over all launches.
struct statistics {
  std::uint64_t instructions = 0, lane_instructions = 0, launches = 0, library_work = 0,
                left_out = 0, findings[finding_count]{};
  double seconds = 0;
  std::set<std::pair<finding, statement const*>> said;
  static statistics& instance();
};

}  // namespace ptx
