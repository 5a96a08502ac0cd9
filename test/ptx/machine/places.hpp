// SPDX-License-Identifier: Apache-2.0
// Which registers of a function live at the same time: those that do not share a place in its frame.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx {

/// What liveness needs to know of an instruction. Registers have numbers from 0.
struct register_use {
  std::vector<std::int32_t> reads, writes;
  std::vector<std::uint32_t> next;  // instructions of the function that may come after this one
  bool is_guarded = false;          // lanes may keep what a register had
};

/// First and last instruction between which a register holds a value that is still to be read.
struct life {
  std::int32_t first = -1, last = -1;  // -1: no instruction names the register
};
/// means: by the flow of data backwards, over blocks of instructions, until nothing changes
std::vector<life> lives_of(std::vector<register_use> const& code, std::size_t registers);

/// A number for each register; registers of one number have the same width and lives that do not
/// touch. A lane has its own part of a place, which is why widths do not mix.
std::vector<std::int32_t> shared_places(std::vector<life> const& lives,
                                        std::vector<unsigned> const& widths);

}  // namespace ptx
