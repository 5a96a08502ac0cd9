// SPDX-License-Identifier: Apache-2.0
// How 32 lanes go through a program: each has a place in it, and those furthest behind go first.
#include <algorithm>
#include <bit>
#include <cstring>

#include "../counts/launch_counts.hpp"
#include "machine.hpp"

namespace ptx {

std::string warp::where(instruction const& i, int lane) const {
  unsigned const t = unsigned(number * lane_count + lane);
  dimensions const& d = in.of->threads;
  std::string s = "in " + in.of->entry.name + ", block (" + std::to_string(in.number.x) + "," +
                  std::to_string(in.number.y) + "," + std::to_string(in.number.z) + "), thread (" +
                  std::to_string(t % d.x) + "," + std::to_string(t / d.x % d.y) + "," +
                  std::to_string(t / d.x / d.y) + ")";
  s += ", PTX line " + std::to_string(i.source->line);
  if (i.source->source) s += ", source line " + std::to_string(i.source->source);
  return s + ": " + std::string(i.source->text);
}
void warp::fail(int code, instruction const& i, int lane, std::string const& what) const {
  throw fault(code, what + "\n  " + where(i, lane));
}

void warp::start(mask lanes) {
  alive = lanes, active = resting = 0, runs_ = 0, impatient_ = false;
  seen_ = {};  // memory may have been given back since
  for (auto& f : pool_) f->lanes = 0;
  free_.clear();
  for (auto& f : pool_) free_.push_back(f.get());
  local_size_ = in.of->entry.local_bytes + (in.of->code.has_calls ? 16384 : 0);
  locals_.resize(std::size_t(local_size_) * lane_count);
  frame* const f = make_frame(in.of->entry, nullptr);
  f->lanes = std::popcount(lanes);
  for (int l = 0; l < lane_count; ++l)
    states[l] = state::ready, pcs[l] = in.of->entry.first, frames[l] = f, last_run_[l] = 0;
}

frame* warp::make_frame(program_function const& of, frame* caller) {
  frame* f;
  auto const same =
      std::find_if(free_.begin(), free_.end(), [&](frame* x) { return x->of == &of; });
  bool fresh = false;
  if (same != free_.end()) {
    f = *same;
    free_.erase(same);
  } else {
    pool_.push_back(std::make_unique<frame>());
    f = pool_.back().get();
    f->registers.resize(std::size_t(of.frame_bytes) + 64);
    fresh = true;
  }
  f->of = &of, f->caller = caller, f->depth = caller ? caller->depth + 1 : 0;
  f->local_base = caller ? caller->local_base + caller->of->local_bytes : 0;
  f->local_base = (f->local_base + 15) / 16 * 16;
  if (std::uint64_t(f->local_base) + of.local_bytes > local_size_)
    throw fault(719, "the stack of a thread is full in " + of.name);
  std::byte* const r = f->registers.data();
  auto put = [r](std::int32_t at, unsigned bits, int lane, std::uint64_t v) {
    std::memcpy(r + at + lane * int(bits / 8), &v, bits / 8);
  };
  if (fresh)
    for (constant_place const& c : of.constants)
      for (int l = 0; l < lane_count; ++l) put(c.at, c.bits, l, c.value);
  grid const& g = *in.of;
  for (special_place const& s : of.specials)
    for (int l = 0; l < lane_count; ++l) {
      std::uint32_t const t = std::uint32_t(number * lane_count + l);
      std::uint64_t v = 0;
      switch (s.is) {
      case special::tid_x: v = t % g.threads.x; break;
      case special::tid_y: v = t / g.threads.x % g.threads.y; break;
      case special::tid_z: v = t / g.threads.x / g.threads.y; break;
      case special::ntid_x: v = g.threads.x; break;
      case special::ntid_y: v = g.threads.y; break;
      case special::ntid_z: v = g.threads.z; break;
      case special::ctaid_x: v = in.number.x; break;
      case special::ctaid_y: v = in.number.y; break;
      case special::ctaid_z: v = in.number.z; break;
      case special::nctaid_x: v = g.blocks.x; break;
      case special::nctaid_y: v = g.blocks.y; break;
      case special::nctaid_z: v = g.blocks.z; break;
      case special::laneid: v = std::uint32_t(l); break;
      case special::warpid: v = std::uint32_t(number); break;
      case special::nwarpid: v = 32; break;
      case special::smid: v = 0; break;
      case special::nsmid: v = 1; break;
      case special::gridid: v = g.number; break;
      case special::lanemask_eq: v = 1u << l; break;
      case special::lanemask_le: v = (2u << l) - 1; break;
      case special::lanemask_lt: v = (1u << l) - 1; break;
      case special::lanemask_ge: v = ~((1u << l) - 1); break;
      case special::lanemask_gt: v = ~((2u << l) - 1); break;
      case special::dynamic_smem_size: v = g.dynamic_shared; break;
      case special::total_smem_size: v = g.dynamic_shared + g.code.shared_bytes; break;
      case special::workspace_high: v = g.workspace >> 32; break;
      case special::workspace_low: v = g.workspace & 0xffffffff; break;
      case special::local_base: v = f->local_base; break;
      }
      put(s.at, s.bits, l, v);
    }
  return f;
}

void warp::set(frame* f) {
  frame_ = f;
  registers = f->registers.data();
}
void warp::park(mask lanes, std::uint32_t pc) {
  each_lane(lanes, [&](int l) { pcs[l] = pc; });
}

/// The deepest call, and there the lanes that are furthest behind, go first: so they meet again.
/// Where lanes wait for others in a loop, those that ran longest ago take turns.
bool warp::select() {
  int leader = -1;
  mask ready = 0;
  for (mask m = alive & ~resting; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    if (states[l] != state::ready) continue;
    ready |= 1u << l;
    if (leader < 0) {
      leader = l;
    } else if (impatient_) {
      if (last_run_[l] < last_run_[leader]) leader = l;
    } else if (frames[l]->depth > frames[leader]->depth ||
               (frames[l]->depth == frames[leader]->depth && pcs[l] < pcs[leader])) {
      leader = l;
    }
  }
  if (leader < 0) return false;
  set(frames[leader]);
  pc_ = pcs[leader];
  stop_ = UINT32_MAX;
  active = 0;
  ++runs_;
  for (mask m = ready; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    if (frames[l] == frame_ && pcs[l] == pc_)
      active |= 1u << l, last_run_[l] = runs_;
    else if (!impatient_ && frames[l] == frame_ && pcs[l] > pc_ && pcs[l] < stop_)
      stop_ = pcs[l];
  }
  impatient_ = false;
  return true;
}

bool warp::run(std::uint64_t budget) {
  return in.of->counting ? run_counted<true>(budget) : run_counted<false>(budget);
}
template <bool Counts>
bool warp::run_counted(std::uint64_t budget) {
  instruction const* const code = in.of->code.code.data();
  statistics& count = statistics::instance();
  std::uint64_t instructions = 0, lanes = 0;
  bool ran = false;
  auto const add_up = [&] {
    count.instructions += instructions, count.lane_instructions += lanes;
    instructions = lanes = 0;
  };
  resting = 0;
  try {
    while (budget > 0 && select()) {
      ran = true;
      std::uint64_t patience = 20000;
      bool const alone = active == alive;
      for (;;) {
        instruction const& i = code[pc_];
        mask m = active;
        if (i.guard >= 0) m &= i.guard_negated ? ~predicate(i.guard) : predicate(i.guard);
        ++instructions, lanes += unsigned(std::popcount(m));
        if constexpr (Counts) in.of->counting->note(*this, i, pc_, m, active);
        if (i.goes == control::none) {
          if (m) i.run(*this, i, m);
          ++pc_;
        } else if (i.goes == control::branch) {
          if (m == active) {
            pc_ = i.target;
          } else {
            if (m) {
              park(m, i.target), park(active & ~m, pc_ + 1);
              break;
            }
            ++pc_;
          }
        } else {
          if (!m) {
            ++pc_;
          } else {
            std::uint32_t const next = pc_ + 1;
            park(active & ~m, next);
            switch (i.goes) {
            case control::table: {
              auto const& table = in.of->code.tables[i.target];
              each_lane(m, [&](int l) {
                std::uint32_t const n = at<std::uint32_t>(i.at[0])[l];
                if (n >= table.size()) fail(718, i, l, "a branch past its table");
                pcs[l] = table[n];
              });
              break;
            }
            case control::leave: leave(m); break;
            case control::give_back: give_back(m); break;
            case control::call: park(m, next), call(i, m); break;
            case control::barrier: park(m, next), in.arrive(*this, m, i); break;
            case control::warp_sync: meet(i, m); break;
            case control::rest: park(m, next), resting |= m; break;
            default: break;
            }
            break;
          }
        }
        if (pc_ >= stop_) {
          park(active, pc_);
          break;
        }
        if (--budget == 0) {
          park(active, pc_);
          break;
        }
        if (--patience == 0 && !alone) {
          park(active, pc_);
          impatient_ = true;
          break;
        }
      }
    }
  } catch (...) {
    add_up();
    throw;
  }
  add_up();
  return ran;
}

void warp::leave(mask m) {
  alive &= ~m;
  each_lane(m, [&](int l) { frames[l] = nullptr; });
  in.lanes_left();
}

void warp::release(mask lanes) {
  each_lane(lanes, [&](int l) { states[l] = state::ready; });
}

/// Lanes that a warp-wide instruction names wait for each other there.
void warp::meet(instruction const& i, mask m) {
  std::uint32_t const* const wanted = at<std::uint32_t>(i.at[9]);
  std::uint32_t const here = pc_;
  each_lane(m, [&](int l) { states[l] = state::at_sync, pcs[l] = here; });
  while (m) {
    std::uint32_t const group = wanted[__builtin_ctz(m)];
    mask mine = 0, came = 0;
    for (int l = 0; l < lane_count; ++l) {
      if (m >> l & 1 && wanted[l] == group) mine |= 1u << l;
      if (alive >> l & 1 && states[l] == state::at_sync && pcs[l] == here && frames[l] == frame_ &&
          wanted[l] == group)
        came |= 1u << l;
    }
    m &= ~mine;
    if (mine & ~group)
      fail(719, i, __builtin_ctz(mine & ~group), "a lane is not in the mask that it names");
    if (group & alive & ~came) continue;  // the others are still to come
    if (group & ~alive && !i.flag2)       // flag2: a barrier, where who ended counts as there
      in.of->report(finding::stray_shuffle, *this, i, __builtin_ctz(came),
                    "the mask names threads that ended");
    i.run(*this, i, came);
    each_lane(came, [&](int l) { states[l] = state::ready, pcs[l] = here + 1; });
  }
}

}  // namespace ptx
