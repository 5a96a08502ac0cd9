// SPDX-License-Identifier: Apache-2.0
// The plan in order: launches, transfers and buckets, each after the actions that it depends on.
// Actions that write a destination come last, so that every right side is computed before a left
// side is written.
#pragma once
#include <locus/plan/data.hpp>  // plan_view, action

namespace locus {

namespace detail {

struct scheduler {
  plan_view& p;
  bool overlaps = false;
  bool launched[max_steps]{};
  bool moved[2 * max_steps]{};
  bool writes_root[max_steps]{};

  constexpr bool is_launch(short i) const { return p.steps[i].region == i; }
  /// the kernel of step i was launched, or the step needs none
  constexpr bool made(short i) const {
    short const m = memory_of(p, i);
    return p.steps[m].is_source() || launched[p.steps[m].region];
  }
  constexpr bool operands_ready(short i) const {
    for (short k = 0; k <= i; ++k) {
      if (p.steps[k].region != i) continue;
      for (edge const& e : p.operands(p.steps[k])) {
        if (p.steps[e.from].region == i && e.by < 0) continue;
        if (e.by >= 0 ? !moved[e.by] : !made(e.from)) return false;
      }
    }
    return true;
  }
  constexpr bool bucket_ready(short b) const {
    for (transfer const& t : p.transfers)
      if (t.bucket == b && !made(t.from)) return false;
    return true;
  }
  constexpr void add(action_kind kind, short what) { p.actions[p.actions.count++] = {kind, what}; }

  constexpr bool one_transfer(bool writing) {
    for (short t = 0; t < p.transfers.count; ++t) {
      transfer const& me = p.transfers[t];
      if (moved[t] || !made(me.from) || arrives_at_root(me) != writing) continue;
      if (me.bucket < 0) {
        moved[t] = true;
        return add(action_kind::transfer, t), true;
      }
      if (!bucket_ready(me.bucket)) continue;
      for (short k = t; k < p.transfers.count; ++k)
        if (p.transfers[k].bucket == me.bucket) moved[k] = true;
      return add(action_kind::bucket, me.bucket), true;
    }
    return false;
  }
  /// the transfer writes a destination, or shares a bucket with a transfer that does
  constexpr bool arrives_at_root(transfer const& t) const {
    for (root const& r : p.roots)
      if (r.by >= 0)
        if (transfer const& o = p.transfers[r.by];
            &o == &t || (t.bucket >= 0 && o.bucket == t.bucket))
          return true;
    return false;
  }
  /// a launch of maps alone that reads margins is three: its inside needs no row of other pieces
  constexpr void split(action& launch) const {
    int before = 0, behind = 0;
    for (step const& s : p.steps) {
      if (s.region != launch.what) continue;
      if (s.kind != step_kind::map) return;
      for (edge const& e : p.operands(s)) {
        int const rows = e.by < 0 ? reach_of(s, p.steps[e.from].where) : 0;
        if (-rows > before) before = -rows;
        if (rows > behind) behind = rows;
      }
    }
    launch.before = static_cast<unsigned char>(before);
    launch.behind = static_cast<unsigned char>(behind);
  }
  constexpr bool one_launch(bool writing) {
    for (short i = 0; i < p.steps.count; ++i)
      if (is_launch(i) && !launched[i] && writes_root[i] == writing && operands_ready(i)) {
        launched[i] = true;
        add(action_kind::launch, i);
        if (overlaps) split(p.actions[p.actions.count - 1]);
        return true;
      }
    return false;
  }
  constexpr void run() {
    for (root const& r : p.roots)
      if (r.by < 0 && p.steps[r.from].region >= 0) writes_root[p.steps[r.from].region] = true;
    while (one_transfer(false) || one_launch(false) || one_transfer(true) || one_launch(true)) {}
  }
};

}  // namespace detail

/// means: sets the actions of the plan, in an order in which each follows those that it depends on
/// overlaps: launches that read margins are in three parts
constexpr void schedule(plan_view& p, bool overlaps = false) {
  detail::scheduler{p, overlaps}.run();
}

}  // namespace locus
