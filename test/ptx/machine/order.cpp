// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

#include <algorithm>

#include "machine.hpp"

namespace ptx {
namespace {

std::uint32_t next_stamp = 1;
/// true: there was something new
bool join(knowledge& to, knowledge const& from) {
  bool grows = false;
  for (auto const& [block, number] : from) {
    std::uint32_t& mine = to[block];
    grows |= mine < number;
    mine = std::max(mine, number);
  }
  return grows;
}
bool acquires(instruction const& i) { return (i.mode & 1) != 0; }
bool releases(instruction const& i) { return (i.mode & 2) != 0; }

}  // namespace

launch_order::launch_order() {
  if (next_stamp > 1u << 30) {  // half of all: start again
    device_memory::instance().forget_touched();
    next_stamp = 1;
  }
  first_ = next_stamp++;
  epochs_.push_back({UINT32_MAX, 0});
}
std::uint32_t launch_order::stamp_of(std::uint32_t block, std::uint32_t number) {
  epochs_.push_back({block, number});
  return next_stamp++;
}

void block_order::start(launch_order* launch, std::uint32_t number) {
  launch_ = launch, number_ = number, epoch_ = 1;
  known_.clear(), seen_.clear(), over_.clear(), released_.reset(), reads_.reset();
  has_read_ = false;
  if (launch_) stamp_ = launch_->stamp_of(number_, epoch_), begin_ = launch_->many();
}
bool block_order::knows(knowledge const& of, std::uint32_t stamp) const {
  if (stamp == launch_->many()) return !of.empty();  // of which blocks nobody kept
  launch_order::epoch const& e = launch_->at(stamp);
  if (e.block == number_) return true;
  auto const found = of.find(e.block);
  return found != of.end() && found->second >= e.number;
}
void block_order::fence() {
  if (!launch_) return;
  join(known_, seen_);
  seen_.clear();
  auto now = std::make_shared<knowledge>(known_);
  (*now)[number_] = epoch_;
  released_ = std::move(now);
  stamp_ = launch_->stamp_of(number_, ++epoch_);
}
/// What a flag tells is over: what the block reads behind it belongs to the next epoch.
told const& block_order::reads_until_now() {
  if (has_read_ || !reads_) {
    auto now = std::make_shared<knowledge>(over_);
    (*now)[number_] = epoch_;
    reads_ = std::move(now);
    stamp_ = launch_->stamp_of(number_, ++epoch_);
    has_read_ = false;
  }
  return reads_;
}
/// A flag of less than a word shares what the word tells.
void block_order::touch_flag(instruction const& i, use u, std::uint64_t word, bool is_part) {
  auto const found = launch_->flags.find(word);
  bool const is_told = found != launch_->flags.end();
  if (u != use::write && is_told) {
    if (told const& t = found->second.fenced) {
      join(seen_, *t);
      if (acquires(i)) join(known_, *t);
    }
    if (told const& t = found->second.reads; t && join(over_, *t)) reads_.reset();
  }
  if (u == use::read) return;
  told reads = u == use::write ? reads_until_now() : is_told ? found->second.reads : nullptr;
  told fenced = released_;
  if (is_told && (u == use::atomic || is_part)) {
    auto const both = [](told const& a, told const& b) {
      if (!a || !b || a == b) return a ? a : b;
      auto sum = std::make_shared<knowledge>(*a);
      join(*sum, *b);
      return told(std::move(sum));
    };
    fenced = both(found->second.fenced, fenced), reads = both(found->second.reads, reads);
  }
  if (fenced || reads) launch_->flags[word] = {std::move(fenced), std::move(reads)};
}
void block_order::touch_each(warp& w, instruction const& i, use u, bool flag, touched_byte* all,
                             std::uint64_t a, unsigned bytes, int lane) {
  if (flag) {
    if (u != use::read && releases(i)) fence();
    for (std::uint64_t word = a / 4; word <= (a + bytes - 1) / 4; ++word)
      touch_flag(i, u, word, bytes < 4);
  }
  std::uint32_t const mine = stamp_ * 2 + flag;
  for (unsigned k = 0; k < bytes; ++k) {
    touched_byte& t = all[k];
    if (std::uint32_t const s = t.write / 2;
        t.write != mine && launch_->is_now(s) && !(flag && (t.write & 1)) && !knows(known_, s)) {
      report(w, i, u, lane, a + k, true, s);
      t = {};
      return;
    }
    std::uint32_t const read = t.read / 2;
    if (u == use::read) {
      if (flag || t.read == mine) continue;
      bool const first =
          !launch_->is_now(read) || (read != launch_->many() && launch_->at(read).block == number_);
      t.read = first ? mine : launch_->many() * 2;
      has_read_ = true;
      continue;
    }
    if (t.read != mine && launch_->is_now(read) && !knows(known_, read) && !knows(over_, read)) {
      report(w, i, u, lane, a + k, false, read);
      t = {};
      return;
    }
    t.write = mine;
  }
}
void block_order::report(warp& w, instruction const& i, use u, int lane, std::uint64_t byte,
                         bool wrote, std::uint32_t stamp) {
  device_memory::block b;
  device_memory::instance().find(byte, b);
  w.in.of->report(
      finding::global_race, w, i, lane,
      std::string(u == use::read ? "reads" : "writes") + " byte " + std::to_string(byte - b.begin) +
          " of a block of " + std::to_string(b.end - b.begin) + ", which " +
          (stamp == launch_->many() ? std::string("several blocks")
                                    : "block " + std::to_string(launch_->at(stamp).block)) +
          (wrote ? " wrote" : " read") + "; no flag between fences orders them");
}

}  // namespace ptx
