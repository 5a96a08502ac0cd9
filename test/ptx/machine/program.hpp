// SPDX-License-Identifier: Apache-2.0
// A module ready to run: decoded instructions over places in a frame of 32 lanes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "module.hpp"

#if defined(__clang__)
#define PTX_IVDEP
#else
#define PTX_IVDEP _Pragma("GCC ivdep")
#endif

namespace ptx {

inline constexpr int lane_count = 32;
using mask = std::uint32_t;
inline constexpr mask all_lanes = 0xffffffffu;

template <class F>
inline void each_lane(mask m, F&& f) {
  if (m == all_lanes) {
    PTX_IVDEP
    for (int l = 0; l < lane_count; ++l) f(l);
  } else {
    for (; m; m &= m - 1) f(__builtin_ctz(m));
  }
}

class warp;
struct program_function;

/// How an instruction goes on.
enum class control : std::uint8_t {
  none,
  branch,
  table,
  leave,
  give_back,
  call,
  barrier,
  warp_sync,
  rest
};

/// A decoded instruction. Operands are places in a frame; constants and special registers have
/// places, too.
struct instruction {
  using handler = void (*)(warp&, instruction const&, mask);
  handler run = nullptr;
  control goes = control::none;
  bool guard_negated = false, wide = true;  // wide: the base of an address has 64 bits
  space where = space::generic;
  std::uint8_t mode = 0, mode2 = 0;
  bool flag = false, flag2 = false;
  std::int32_t guard = -1;
  std::int32_t at[10] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::int64_t added = 0;    // of an address
  std::uint32_t target = 0;  // of a branch; of a call: its number in `calls`; of brx: in `tables`
  statement const* source = nullptr;
};

/// A place in a frame with the same bits in all lanes, filled when the frame is made.
struct constant_place {
  std::int32_t at;
  unsigned bits;
  std::uint64_t value;
};
enum class special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  local_base,
  workspace_high,
  workspace_low,
};
struct special_place {
  std::int32_t at;
  unsigned bits;
  special is;
};

struct program_function {
  std::string name;
  function const* source = nullptr;
  std::uint32_t first = 0;  // of the code
  std::int32_t frame_bytes = 0;
  std::uint32_t local_bytes = 0;  // of a lane, parameters of device functions included
  std::uint32_t param_bytes = 0;  // of an entry
  struct param {
    std::uint32_t at, bytes;
  };
  std::vector<param> params, returns;  // of an entry: in the launch's; otherwise in local memory
  std::vector<constant_place> constants;
  std::vector<special_place> specials;
  std::vector<std::uint8_t> shared_used;  // of an entry; 0: a byte between variables
};

struct call_site {
  program_function const* to = nullptr;  // null: one of the runtime's own
  std::string name;
  std::vector<std::uint32_t> arguments, results;  // in the caller's local memory
};

/// A module ready to run.
struct program {
  module source;
  std::string text;
  std::vector<instruction> code;
  std::vector<std::unique_ptr<program_function>> functions;
  std::vector<call_site> calls;
  std::vector<std::vector<std::uint32_t>> tables;
  std::map<std::string, std::uint64_t> variables;  // addresses
  std::uint32_t shared_bytes = 0;  // of any kernel's variables; dynamic shared memory begins there
  bool has_calls = false;
  program_function const* find(std::string const& name) const;
};
std::unique_ptr<program> load(std::string text);

}  // namespace ptx
