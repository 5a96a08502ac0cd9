// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

#include <algorithm>

#include "machine.hpp"

namespace ptx {
namespace {

std::uint32_t next_stamp = 1;
void join(knowledge& to, knowledge const& from) {
  for (auto const& [block, number] : from) {
    std::uint32_t& mine = to[block];
    mine = std::max(mine, number);
  }
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
  known_.clear(), seen_.clear(), released_.reset();
  if (launch_) stamp_ = launch_->stamp_of(number_, epoch_), begin_ = launch_->many();
}
bool block_order::knows(std::uint32_t stamp) const {
  if (stamp == launch_->many()) return !known_.empty();  // of which blocks nobody kept
  launch_order::epoch const& e = launch_->at(stamp);
  if (e.block == number_) return true;
  auto const found = known_.find(e.block);
  return found != known_.end() && found->second >= e.number;
}
void block_order::fence() {
  if (!launch_) return;
  join(known_, seen_);
  seen_.clear();
  auto told = std::make_shared<knowledge>(known_);
  (*told)[number_] = epoch_;
  released_ = std::move(told);
  stamp_ = launch_->stamp_of(number_, ++epoch_);
}
void block_order::touch_each(warp& w, instruction const& i, use u, bool flag, touched_byte* all,
                             std::uint64_t a, unsigned bytes, int lane) {
  if (flag) {
    std::uint64_t const place = a / 16;
    if (u != use::read && releases(i)) fence();
    auto const found = launch_->flags.find(place);
    if (u != use::write && found != launch_->flags.end()) {
      join(seen_, *found->second);
      if (acquires(i)) join(known_, *found->second);
    }
    if (u == use::atomic && released_ && found != launch_->flags.end()) {
      auto both = std::make_shared<knowledge>(*found->second);
      join(*both, *released_);
      found->second = std::move(both);
    } else if (u != use::read && released_) {
      launch_->flags[place] = released_;
    } else if (u == use::write && found != launch_->flags.end()) {
      launch_->flags.erase(found);
    }
  }
  std::uint32_t const mine = stamp_ * 2 + flag;
  for (unsigned k = 0; k < bytes; ++k) {
    touched_byte& t = all[k];
    if (std::uint32_t const s = t.write / 2;
        t.write != mine && launch_->is_now(s) && !(flag && (t.write & 1)) && !knows(s)) {
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
      continue;
    }
    if (t.read != mine && launch_->is_now(read) && !knows(read)) {
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
