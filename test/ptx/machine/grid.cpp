// SPDX-License-Identifier: Apache-2.0
// The blocks of a launch, and what is said of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "../counts/launch_counts.hpp"
#include "machine.hpp"

namespace ptx {

options& options::instance() {
  static options o = [] {
    auto number = [](char const* name, unsigned otherwise) {
      char const* const s = std::getenv(name);
      return s ? unsigned(std::strtoul(s, nullptr, 0)) : otherwise;
    };
    options found;
    found.check_races = number("PTX_RACES", 1) != 0;
    found.check_order = number("PTX_ORDER", 1) != 0;
    found.check_unwritten = number("PTX_UNWRITTEN", 1) != 0;
    found.abort = number("PTX_ABORT", 0) != 0;
    found.host_memory = number("PTX_HOST_MEMORY", 0) != 0;
    found.seed = number("PTX_SEED", 0);
    found.say_speed = number("PTX_SPEED", 0) != 0;
    if (char const* const s = std::getenv("PTX_DROPS")) found.drops = s;
    if (char const* const s = std::getenv("PTX_WITHOUT")) {  // ret@map#1
      std::string const all = s;
      std::size_t const at = std::min(all.find('@'), all.size()), number_at = all.find('#');
      found.without.what = all.substr(0, std::min(at, number_at));
      if (at < all.size()) found.without.in = all.substr(at + 1, number_at - at - 1);
      if (number_at != all.npos)
        found.without.number = unsigned(std::atoi(all.c_str() + number_at + 1));
    }
    return found;
  }();
  return o;
}
statistics& statistics::instance() {
  static statistics s;
  return s;
}

void grid::report(finding what, warp& w, instruction const& i, int lane, std::string const& more) {
  statistics& s = statistics::instance();
  ++s.findings[std::size_t(what)];
  if (s.said.size() < 50 && s.said.insert({what, i.source}).second)  // each instruction once
    std::fprintf(stderr, "ptx machine: %s: %s\n  %s\n", finding_names[std::size_t(what)],
                 more.c_str(), w.where(i, lane).c_str());
  if (options::instance().abort) std::abort();
}

namespace {
/// Blocks that ended, kept for the next launch of the same shape.
class idle_blocks {
 public:
  std::unique_ptr<block> take(grid& g);
  void keep(std::unique_ptr<block> b);

 private:
  std::vector<std::unique_ptr<block>> all_;
};
std::unique_ptr<block> idle_blocks::take(grid& g) {
  for (std::size_t k = all_.size(); k-- > 0;) {
    if (!all_[k]->suits(g)) continue;
    std::unique_ptr<block> found = std::move(all_[k]);
    all_.erase(all_.begin() + std::ptrdiff_t(k));
    return found;
  }
  return std::make_unique<block>(g);
}
void idle_blocks::keep(std::unique_ptr<block> b) {
  if (all_.size() >= 64) all_.erase(all_.begin());
  all_.push_back(std::move(b));
}
}  // namespace

/// Blocks run one after the other; a block that takes long shares its time with those behind it,
/// so that blocks may wait for each other.
void grid::run(bool all_at_once) {
  std::clock_t const begin = std::clock();
  auto const counts_of_this = launch_counts::of(*this);
  counting = counts_of_this.get();
  std::uint64_t const count = blocks.count();
  std::uint64_t next = 0;
  std::unique_ptr<launch_order> among_blocks;
  if (options::instance().check_races && options::instance().check_order && count > 1)
    among_blocks = std::make_unique<launch_order>();
  order = among_blocks.get();
  auto const place = [&](std::uint64_t n) {
    return dimensions{std::uint32_t(n % blocks.x), std::uint32_t(n / blocks.x % blocks.y),
                      std::uint32_t(n / blocks.x / blocks.y)};
  };
  std::vector<std::unique_ptr<block>> live;
  static idle_blocks& idle = *new idle_blocks;
  auto const admit = [&] {
    live.push_back(idle.take(*this));
    live.back()->restart(*this, place(next++));
  };
  while (next < count && (live.empty() || all_at_once)) admit();
  std::uint64_t const slice = 100000;
  unsigned turns = 0;
  while (!live.empty()) {
    for (std::size_t k = 0; k < live.size(); ++k) {
      if (!live[k]->run(slice)) live[k]->fail_stuck();
      if (live[k]->is_done()) {
        idle.keep(std::move(live[k]));
        live.erase(live.begin() + std::ptrdiff_t(k--));
        turns = 0;
      }
    }
    ++turns;
    if (next < count && (live.empty() || (turns > 200 && live.size() < 512))) admit();
  }
  if (counting) counting->finish(), counting = nullptr;
  statistics& s = statistics::instance();
  ++s.launches;
  s.seconds += double(std::clock() - begin) / CLOCKS_PER_SEC;  // of a processor
}

}  // namespace ptx
