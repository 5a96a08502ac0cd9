// SPDX-License-Identifier: Apache-2.0
#include "launch_counts.hpp"

#include <algorithm>
#include <bit>

#include "log.hpp"

namespace ptx {

using counts::addresses;
using counts::figure;
using counts::instruction_facts;
using counts::kind;

launch_counts::launch_counts(grid const& g, std::vector<instruction_facts> const& facts,
                             std::uint64_t first_cache_bytes)
    : grid_(g), facts_(facts) {
  std::uint64_t const threads = g.threads.count(), warps = (threads + lane_count - 1) / lane_count;
  figures_[figure::launches] = 1, figures_[figure::blocks] = g.blocks.count();
  figures_[figure::threads] = g.blocks.count() * threads;
  figures_[figure::warps] = g.blocks.count() * warps;
  // where as many blocks as fit share the cache of a processor of 2048 threads
  first_cache_ = std::uint32_t(first_cache_bytes * warps * lane_count / 2048 / 32);
}
std::unique_ptr<launch_counts> launch_counts::of(grid const& g) {
  counts::log& all = counts::log::instance();
  if (!all.is_on()) return nullptr;
  return std::make_unique<launch_counts>(g, all.facts(g.code), all.first_cache_bytes());
}
void launch_counts::finish() {
  touched_.add_to(figures_);
  figures_[figure::issue_slots] = (figures_[figure::issue_slots] + 5) / 10;
  counts::log::instance().add(grid_, figures_);
}

std::uint64_t launch_counts::block_of(warp const& w) const {
  dimensions const& b = w.in.number;
  return 1 + b.x + (b.y + std::uint64_t(b.z) * grid_.blocks.y) * grid_.blocks.x;
}
launch_counts::warp_state& launch_counts::state_of(warp& w) {
  if (last_warp_ != &w) last_warp_ = &w, last_state_ = &warps_[&w];
  if (std::uint64_t const b = block_of(w); last_state_->block != b)
    *last_state_ = {}, last_state_->block = b;  // blocks that end give their warps to others
  return *last_state_;
}

void launch_counts::note(warp& w, instruction const& i, std::uint32_t pc, mask m, mask active) {
  instruction_facts const& f = facts_[pc];
  warp_state& s = state_of(w);
  auto const lanes = std::uint64_t(std::popcount(m));
  ++figures_.warps_of[std::size_t(f.of.is)], figures_.threads_of[std::size_t(f.of.is)] += lanes;
  ++figures_[figure::warp_instructions], figures_[figure::thread_instructions] += lanes;
  figures_[figure::issue_slots] += f.of.tenths;
  figures_[figure::prefetches] += f.prefetches && m;
  figures_[figure::branches] += f.is_branch;
  figures_[figure::divergent] += f.is_branch && m && m != active;
  if (!s.on_their_way.empty()) use(s, f);
  if (f.waits_for_copies) wait_for_copies(s, w, i, pc, m);
  if (!m) return;
  if (f.copies_in_bulk)
    copy_in_bulk(w, s, i, m);
  else if (f.loads || f.stores || f.atomics)
    access(w, s, i, f, m);
}

// ---- waits ----

/// A warp waits where it reads a register whose load is on its way: once, for all that it asked for.
void launch_counts::use(warp_state& s, instruction_facts const& f) {
  auto const is_on_its_way = [&](std::int32_t r) {
    return std::find(s.on_their_way.begin(), s.on_their_way.end(), r) != s.on_their_way.end();
  };
  if (std::none_of(f.from.begin(), f.from.end(), is_on_its_way)) return;
  if (f.of.is == kind::moved) {  // ptxas gives it no instruction of its own
    s.on_their_way.insert(s.on_their_way.end(), f.to.begin(), f.to.end());
  } else if (s.loads) {
    wait(s);
  } else {
    ++figures_[figure::shared_waits];
    s.on_their_way.clear();
  }
}
void launch_counts::wait(warp_state& s) {
  ++figures_[figure::waits];
  figures_[figure::wait_loads] += s.loads, figures_[figure::wait_bytes] += s.bytes;
  s.on_their_way.clear(), s.loads = 0, s.bytes = 0;
}
/// A loop around the test of a barrier in memory waits once for each parity; another warp may have
/// asked for what comes.
void launch_counts::wait_for_copies(warp_state& s, warp& w, instruction const& i, std::uint32_t pc,
                                    mask m) {
  std::uint32_t const parity =
      i.at[1] >= 0 && m ? w.at<std::uint32_t>(i.at[1])[std::countr_zero(m)] : 0;
  if (s.waited_at == pc && s.parity == parity) return;
  wait(s);
  s.waited_at = pc, s.parity = parity;
}

// ---- memory ----

void launch_counts::access(warp& w, warp_state& s, instruction const& i, instruction_facts const& f,
                           mask m) {
  addresses a;
  a.bytes = f.bytes, a.lanes = m;
  bool in_shared = i.where == space::shared;
  for (mask left = m; left; left &= left - 1) {
    int const l = std::countr_zero(left);
    a.of[a.count++] = f.copies ? (i.mode2 & 2 ? w.at<std::uint64_t>(i.at[1])[l]
                                              : w.at<std::uint32_t>(i.at[1])[l]) +
                                     i.target
                               : w.address(i, l, i.at[0]);
  }
  if (i.where == space::generic && !f.copies) {
    std::uint64_t const window = a.of[0] & window_mask;
    if (window == local_window || window == param_window) return;
    in_shared = window == shared_window;
  }
  if (f.copies) in_shared = false;
  if (f.loads) {
    if (!f.copies) s.on_their_way.insert(s.on_their_way.end(), f.to.begin(), f.to.end());
    if (!in_shared) ++s.loads, s.bytes += std::uint64_t(f.bytes) * unsigned(a.count);
  }
  if (in_shared) {
    for (int k = 0; k < a.count; ++k) a.of[k] &= ~window_mask;
    counts::turns const t = counts::turns_of(a);
    ++figures_[figure::shared_requests];
    figures_[figure::shared_wavefronts] += t.wavefronts, figures_[figure::shared_ideal] += t.ideal;
    return;
  }
  counts::request const r = counts::request_of(a);
  if (f.atomics) {
    ++figures_[figure::atomic_requests];
    figures_[figure::atomic_sectors] += std::uint64_t(r.sector_count);
    for (int k = 0; k < a.count; ++k)
      touched_.read(a.of[k], f.bytes), touched_.write(a.of[k], f.bytes);
  } else if (f.loads) {
    load(w, f, a, r);
  } else {
    store(a, r);
  }
}

namespace {
/// the figure of that many bytes a lane, of five in a row
figure of_width(figure of_one, unsigned bytes) {
  int const log2 = bytes >= 16 ? 4 : std::countr_zero(bytes ? bytes : 1);
  return figure(int(of_one) + log2);
}
}  // namespace

void launch_counts::load(warp& w, instruction_facts const& f, addresses const& a,
                         counts::request const& r) {
  ++figures_[figure::load_requests], ++figures_[of_width(figure::load_1, f.bytes)];
  figures_[figure::load_sectors] += std::uint64_t(r.sector_count);
  figures_[figure::load_lines] += std::uint64_t(r.line_count);
  figures_[figure::load_ideal] += r.ideal_sectors(), figures_[figure::load_bytes] += r.useful_bytes;
  block_state& b = blocks_[&w.in];
  if (std::uint64_t const number = block_of(w); b.number != number) b = {number, 0};
  bool missed = false, is_first = false;
  for (int k = 0; k < r.sector_count; ++k) {
    if (!touched_.misses(r.sectors[k], b.number, b.misses, first_cache_, f.past_first_cache))
      continue;
    ++figures_[figure::load_misses];
    missed = true, is_first |= !touched_.was_read(r.sectors[k]);
  }
  figures_[figure::load_near] += !missed;
  figures_[figure::load_cached] += missed && !is_first;
  for (int k = 0; k < a.count; ++k) touched_.read(a.of[k], f.bytes);
}
void launch_counts::store(addresses const& a, counts::request const& r) {
  ++figures_[figure::store_requests], ++figures_[of_width(figure::store_1, a.bytes)];
  figures_[figure::store_sectors] += std::uint64_t(r.sector_count);
  figures_[figure::store_lines] += std::uint64_t(r.line_count);
  figures_[figure::store_ideal] += r.ideal_sectors();
  figures_[figure::store_bytes] += r.useful_bytes;
  figures_[figure::store_whole] += std::uint64_t(r.whole_sectors);
  for (int k = 0; k < a.count; ++k) touched_.write(a.of[k], a.bytes);
}
void launch_counts::copy_in_bulk(warp& w, warp_state& s, instruction const& i, mask m) {
  for (; m; m &= m - 1) {
    int const l = std::countr_zero(m);
    std::uint64_t const from =
        (i.mode2 & 2 ? w.at<std::uint64_t>(i.at[1])[l] : w.at<std::uint32_t>(i.at[1])[l]) +
        i.target;
    std::uint64_t const bytes = w.at<std::uint32_t>(i.at[2])[l];
    if (bytes == 0) continue;
    std::uint64_t const end = from + bytes, sectors = (end - 1) / 32 - from / 32 + 1;
    ++figures_[figure::load_requests], ++figures_[figure::load_16];
    figures_[figure::load_sectors] += sectors, figures_[figure::load_misses] += sectors;
    figures_[figure::load_lines] += (end - 1) / 128 - from / 128 + 1;
    figures_[figure::load_ideal] += (bytes + 31) / 32, figures_[figure::load_bytes] += bytes;
    for (std::uint64_t a = from; a < end; a += 4) touched_.read(a, 4);
    ++s.loads, s.bytes += bytes;
  }
}

}  // namespace ptx
