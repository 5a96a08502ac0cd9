// SPDX-License-Identifier: Apache-2.0
// Counts one launch while it runs.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "../machine/machine.hpp"
#include "facts.hpp"
#include "footprint.hpp"
#include "requests.hpp"

namespace ptx {

class launch_counts {
 public:
  /// null: counting is off
  static std::unique_ptr<launch_counts> of(grid const& g);
  launch_counts(grid const& g, std::vector<counts::instruction_facts> const& facts,
                std::uint64_t first_cache_bytes);
  /// lanes m of a warp execute the instruction at pc; `active` reached it
  void note(warp& w, instruction const& i, std::uint32_t pc, mask m, mask active);
  /// to the log, with the figures of the whole launch
  void finish();

 private:
  /// A warp in the middle of its loads: what a scoreboard knows.
  struct warp_state {
    std::uint64_t block = 0;                 // to which the rest belongs; 0: none
    std::vector<std::int32_t> on_their_way;  // registers
    std::uint32_t loads = 0;
    std::uint64_t bytes = 0;
    std::uint32_t waited_at = 0, parity = 0;  // of copies
  };
  struct block_state {
    std::uint64_t number = 0;
    std::uint32_t misses = 0;
  };
  std::uint64_t block_of(warp const& w) const;
  warp_state& state_of(warp& w);
  void use(warp_state& s, counts::instruction_facts const& f);
  void wait_for_copies(warp_state& s, warp& w, instruction const& i, std::uint32_t pc, mask m);
  void wait(warp_state& s);
  void access(warp& w, warp_state& s, instruction const& i, counts::instruction_facts const& f,
              mask m);
  void load(warp& w, counts::instruction_facts const& f, counts::addresses const& a,
            counts::request const& r);
  void store(counts::addresses const& a, counts::request const& r);
  void copy_in_bulk(warp& w, warp_state& s, instruction const& i, mask m);

  grid const& grid_;
  std::vector<counts::instruction_facts> const& facts_;
  counts::figures figures_;
  counts::footprint touched_;
  std::uint32_t first_cache_ = 0;  // a block's share, in sectors
  std::unordered_map<warp const*, warp_state> warps_;
  std::unordered_map<block const*, block_state> blocks_;
  warp const* last_warp_ = nullptr;
  warp_state* last_state_ = nullptr;
};

}  // namespace ptx
