// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace ptx {
namespace {

/// A set of registers.
class bits {
 public:
  explicit bits(std::size_t registers) : words_((registers + 63) / 64) {}
  bool has(std::int32_t r) const { return words_[std::size_t(r) / 64] >> (r % 64) & 1; }
  void add(std::int32_t r) { words_[std::size_t(r) / 64] |= std::uint64_t(1) << (r % 64); }
  void add(bits const& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
  }
  /// what lives in front of a block: its reads, and what lives behind it without its writes; true: more than before
  bool set(bits const& reads, bits const& behind, bits const& writes) {
    std::uint64_t fresh = 0;
    for (std::size_t k = 0; k < words_.size(); ++k) {
      std::uint64_t const now = reads.words_[k] | (behind.words_[k] & ~writes.words_[k]);
      fresh |= now & ~words_[k];
      words_[k] = now;
    }
    return fresh != 0;
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t k = 0; k < words_.size(); ++k)
      for (std::uint64_t w = words_[k]; w; w &= w - 1) f(k * 64 + std::size_t(std::countr_zero(w)));
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// Instructions from first to last, entered and left only there.
struct straight {
  straight(std::size_t begin, std::size_t registers)
      : first(std::int32_t(begin)), reads(registers), writes(registers), live_in(registers),
        live_out(registers) {}
  std::int32_t first, last = 0;
  std::vector<std::size_t> next;
  bits reads, writes, live_in, live_out;  // reads: before the block writes
};

std::vector<straight> blocks_of(std::vector<register_use> const& code, std::size_t registers) {
  std::vector<bool> begins(code.size() + 1);
  begins[0] = true;
  for (std::size_t k = 0; k < code.size(); ++k)
    if (code[k].next.size() != 1 || code[k].next[0] != k + 1) {
      begins[k + 1] = true;
      for (std::uint32_t const to : code[k].next) begins[to] = true;
    }
  std::vector<straight> blocks;
  std::vector<std::size_t> block_at(code.size());
  for (std::size_t k = 0; k < code.size(); ++k) {
    if (begins[k]) blocks.emplace_back(k, registers);
    straight& b = blocks.back();
    b.last = std::int32_t(k), block_at[k] = blocks.size() - 1;
    for (auto const r : code[k].reads)
      if (!b.writes.has(r)) b.reads.add(r);
    for (auto const r : code[k].writes)
      if (!code[k].is_guarded)
        b.writes.add(r);
      else if (!b.writes.has(r))
        b.reads.add(r);
  }
  for (straight& b : blocks)
    for (std::uint32_t const to : code[std::size_t(b.last)].next)
      if (to < code.size()) b.next.push_back(block_at[to]);
  return blocks;
}

}  // namespace

std::vector<life> lives_of(std::vector<register_use> const& code, std::size_t registers) {
  std::vector<straight> blocks = blocks_of(code, registers);
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t k = blocks.size(); k-- > 0;) {
      straight& b = blocks[k];
      for (std::size_t const to : b.next) b.live_out.add(blocks[to].live_in);
      changes |= b.live_in.set(b.reads, b.live_out, b.writes);
    }
  }
  std::vector<life> lives(registers);
  auto const lives_at = [&](std::size_t r, std::int32_t k) {
    life& l = lives[r];
    l.first = l.first < 0 ? k : std::min(l.first, k), l.last = std::max(l.last, k);
  };
  for (std::size_t k = 0; k < code.size(); ++k)
    for (auto const* list : {&code[k].reads, &code[k].writes})
      for (auto const r : *list) lives_at(std::size_t(r), std::int32_t(k));
  for (straight const& b : blocks) {
    b.live_in.each([&](std::size_t r) { lives_at(r, b.first); });
    b.live_out.each([&](std::size_t r) { lives_at(r, b.last); });
  }
  return lives;
}

std::vector<std::int32_t> shared_places(std::vector<life> const& lives,
                                        std::vector<unsigned> const& widths) {
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lives[a].first < lives[b].first; });
  std::vector<std::int32_t> place_of(lives.size(), -1);
  std::int32_t places = 0;
  std::map<unsigned, std::multimap<std::int32_t, std::int32_t>>
      taken;  // by width: until when, which
  for (std::size_t const r : order) {
    auto& of_width = taken[widths[r]];
    auto const free = of_width.begin();
    if (free != of_width.end() && free->first < lives[r].first) {
      place_of[r] = free->second;
      of_width.erase(free);
    } else {
      place_of[r] = places++;
    }
    of_width.emplace(lives[r].last, place_of[r]);
  }
  return place_of;
}

}  // namespace ptx
