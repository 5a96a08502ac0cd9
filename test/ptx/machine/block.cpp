// SPDX-License-Identifier: Apache-2.0
// Warps that share memory and barriers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "machine.hpp"

namespace ptx {

block::block(grid& g)
    : of(&g), entry_(&g.entry), threads_(g.threads.count()), dynamic_shared_(g.dynamic_shared) {
  int const count = int((g.threads.count() + lane_count - 1) / lane_count);
  for (int w = 0; w < count; ++w) warps.push_back(std::make_unique<warp>(*this, w));
  memory.resize(g.code.shared_bytes + g.dynamic_shared);
  written.resize(memory.size());
  if (options::instance().check_races) reads.resize(memory.size()), writes.resize(memory.size());
}
void block::restart(grid& g, dimensions n) {
  of = &g, number = n;
  among_others.start(g.order,
                     std::uint32_t(n.x + g.blocks.x * (n.y + std::uint64_t(g.blocks.y) * n.z)));
  ++time;
  options const& o = options::instance();
  may_drop_ = !o.drops.empty() && entry_->name.find(o.drops) != std::string::npos;
  // never zeros, and mostly others in another order of warps: results must not depend on them
  std::fill(memory.begin(), memory.end(), std::byte((0xd5 ^ o.seed) | 1));
  std::fill(written.begin(), written.end(), std::uint8_t(0));
  for (auto& b : barriers_) b = {};
  std::uint64_t left = of->threads.count();
  for (auto& w : warps) {
    w->start(left >= lane_count ? all_lanes : (1u << left) - 1);
    left -= left >= lane_count ? lane_count : left;
  }
}
bool block::is_done() const {
  return std::all_of(warps.begin(), warps.end(), [](auto const& w) { return w->is_done(); });
}
std::uint32_t block::alive() const {
  std::uint32_t n = 0;
  for (auto const& w : warps) n += unsigned(std::popcount(w->alive));
  return n;
}
bool block::run(std::uint64_t budget) {
  bool ran = false;
  std::vector<std::size_t> order(warps.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  if (std::uint32_t s = options::instance().seed; s != 0) {
    s ^= number.x * 2654435761u + time * 40503u;
    for (std::size_t k = order.size(); k > 1; --k) {
      s = s * 1664525u + 1013904223u;
      std::swap(order[k - 1], order[(s >> 8) % k]);
    }
  }
  for (std::size_t k : order)
    if (!warps[k]->is_done()) ran |= warps[k]->run(budget);
  return ran;
}

/// modes: 0 sync, 1 arrive, 2 popc, 3 and, 4 or; at: number, count, predicate, result
void block::arrive(warp& w, mask m, instruction const& i) {
  int const first = __builtin_ctz(m);
  std::uint32_t const which = w.at<std::uint32_t>(i.at[0])[first];
  if (which >= 16) w.fail(719, i, first, "there are 16 barriers");
  barrier& b = barriers_[which];
  b.wanted = i.at[1] >= 0 ? w.at<std::uint32_t>(i.at[1])[first] : 0;
  b.arrived += unsigned(std::popcount(m));
  if (i.mode >= 2) {
    mask const p = w.predicate(i.at[2]);
    b.count += unsigned(std::popcount((i.flag ? ~p : p) & m));
  }
  if (i.mode != 1) {
    each_lane(m, [&](int l) { w.states[l] = warp::state::at_barrier; });
    for (auto const& other : b.all)
      if (other.who == &w && i.flag2 && other.i != &i)
        of->report(finding::divergent_barrier, w, i, first,
                   "other lanes of the warp wait at PTX line " +
                       std::to_string(other.i->source->line));
    b.all.push_back({&w, m, &i});
  }
  open_barriers();
}
void block::open_barriers() {
  for (barrier& b : barriers_) {
    if (b.arrived == 0) continue;
    std::uint32_t const all = alive();
    if (b.arrived >= (b.wanted ? b.wanted : all)) open(b);
  }
}
void block::open(barrier& b) {
  ++time;
  for (auto const& each : b.all) {
    instruction const& i = *each.i;
    if (i.mode >= 2)
      each_lane(each.lanes, [&](int l) {
        std::byte* const r = each.who->frames[l]->registers.data();
        bool const all = i.mode == 3 ? b.count == b.arrived : b.count > 0;
        if (i.mode == 2)
          reinterpret_cast<std::uint32_t*>(r + i.at[3])[l] = b.count;
        else if (mask& p = *reinterpret_cast<mask*>(r + i.at[3]); all)
          p |= 1u << l;
        else
          p &= ~(1u << l);
      });
    each.who->release(each.lanes);
  }
  b = {};
}
void block::fail_stuck() {
  std::string s = "no thread of a block can go on:";
  int said = 0;
  for (auto const& w : warps)
    for (int l = 0; l < lane_count && said < 4; ++l) {
      if (!(w->alive >> l & 1)) continue;
      std::uint32_t const pc = w->states[l] == warp::state::at_sync ? w->pcs[l] : w->pcs[l] - 1;
      s += "\n  " + w->where(of->code.code[pc], l), ++said;
      for (; l + 1 < lane_count && w->pcs[l + 1] == w->pcs[l]; ++l) {}
    }
  throw fault(719, s);
}

std::byte* block::shared(warp& w, instruction const& i, warp::use u, std::uint64_t a,
                         unsigned bytes, int lane) {
  if (a + bytes > memory.size() || a + bytes < a)
    w.fail(700, i, lane,
           "shared memory is left: byte " + std::to_string(std::int64_t(a)) + " of " +
               std::to_string(memory.size()));
  auto const& used = entry_->shared_used;
  for (std::uint64_t k = a; k < a + bytes && k < of->code.shared_bytes; ++k)
    if (k >= used.size() || !used[k])
      w.fail(700, i, lane, "byte " + std::to_string(k) + " of shared memory is in no variable");
  options const& o = options::instance();
  if (u != warp::use::read) {
    std::memset(written.data() + a, 1, bytes);
  } else if (o.check_unwritten && !may_drop_) {
    for (unsigned k = 0; k < bytes; ++k)
      if (!written[a + k]) {
        of->report(finding::shared_unwritten, w, i, lane, "byte " + std::to_string(a + k));
        std::memset(written.data() + a, 1, bytes);
        break;
      }
  }
  if (o.check_races && u != warp::use::atomic) {
    std::int32_t const thread = w.number * lane_count + lane;
    auto const unordered = [&](touch const& t) {
      return t.block_time == time && t.thread != thread &&
             (t.warp != w.number || t.thread == -3 || t.warp_time == w.time);
    };
    for (unsigned k = 0; k < bytes; ++k) {
      touch &r = reads[a + k], &wr = writes[a + k];
      bool const is_write = u == warp::use::write;
      if (unordered(wr) || (is_write && unordered(r))) {
        touch const& other = unordered(wr) ? wr : r;
        of->report(finding::shared_race, w, i, lane,
                   std::string(is_write ? "writes" : "reads") + " byte " + std::to_string(a + k) +
                       " that " +
                       (other.thread < 0 ? std::string("several threads")
                                         : "thread " + std::to_string(other.thread)) +
                       (&other == &wr ? " wrote" : " read") + " since the last barrier");
        wr = r = {};
        break;
      }
      touch const now{time, w.time, thread, w.number};
      if (is_write)
        wr = now;
      else if (r.block_time == time && r.thread != thread)
        r = {time, w.time, r.warp == w.number && r.thread != -3 ? -2 : -3, w.number};
      else
        r = now;
    }
  }
  return memory.data() + a;
}

}  // namespace ptx
