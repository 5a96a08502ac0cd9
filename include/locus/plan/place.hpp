// SPDX-License-Identifier: Apache-2.0
// Pass 3: where does each step run? decisions/05-placement.md shows its rules.
//   (1) the innermost on<Device>
//   (2) home: steps whose leaves are all on the destination's device, and the element-wise region
//       that ends in it, run there
//   (3) the policy
#pragma once
#include <locus/plan/data.hpp>  // plan_view, placement_rule

namespace locus {

namespace detail {

struct placer {
  plan_view& p;
  placement_rule rule;
  device home[max_steps]{};     // of its destinations; none if they differ
  bool at_home[max_steps]{};    // all its leaves are on that device
  bool ends_home[max_steps]{};  // in the element-wise region that ends in the destination

  static constexpr bool undecided(step const& s) {
    return !s.is_source() && !s.where.is_distributed();
  }
  static constexpr bool has_kernel(step const& s, device d) {
    return d.is_gpu() ? s.on_gpu : s.on_cpu;
  }

  // ---- rule 2 ----
  constexpr void find_homes() {
    bool reached[max_steps]{};
    auto reach = [&](short i, device d, bool region) {
      home[i] = reached[i] && !(home[i] == d) ? device{} : d;
      ends_home[i] = region && (!reached[i] || ends_home[i]);
      reached[i] = true;
    };
    for (root const& r : p.roots) {
      bool const one_place = r.destination.is_single() && !r.destination.is_nowhere();
      device const d = one_place ? r.destination.at(0) : device{};
      reach(r.from, d, one_place && p.steps[r.from].kind == step_kind::map);
    }
    for (short i = static_cast<short>(p.steps.count); i-- > 0;)
      for (edge const& e : p.operands(p.steps[i])) {
        if (!reached[i]) continue;
        bool const region = ends_home[i] && !p.steps[i].where.is_distributed() &&
                            p.steps[e.from].kind == step_kind::map;
        reach(e.from, home[i], region);
      }
    for (short i = 0; i < p.steps.count; ++i) {
      step const& s = p.steps[i];
      if (s.kind == step_kind::leaf)
        at_home[i] = s.where == single(home[i]);
      else {
        at_home[i] = true;
        for (edge const& e : p.operands(s)) at_home[i] = at_home[i] && at_home[e.from];
      }
      if (home[i].is_none()) at_home[i] = ends_home[i] = false;
    }
  }

  // ---- rule 3 ----
  /// means: the GPU that holds the most operands (ties: the first of them); none if no operand is
  ///        on a GPU
  constexpr device gpu_of_operands(step const& s) const {
    device best{};
    int most = 0;
    for (edge const& e : p.operands(s)) {
      place const& at = p.steps[e.from].where;
      if (!at.is_single() || at.is_nowhere() || !at.at(0).is_gpu()) continue;
      int count = 0;
      for (edge const& other : p.operands(s)) count += p.steps[other.from].where == at;
      if (count > most) most = count, best = at.at(0);
    }
    return best;
  }
  constexpr device first_operand(step const& s) const {
    for (edge const& e : p.operands(s))
      if (place const& at = p.steps[e.from].where; at.is_single() && !at.is_nowhere())
        return at.at(0);
    return {};
  }

  /// means: the device by the rules, before kernels are considered
  constexpr device wanted(short i, reason& why) const {
    step const& s = p.steps[i];
    if (!s.request.is_none()) return why = reason::requested, s.request;
    if (at_home[i]) return why = reason::home, home[i];
    if (ends_home[i]) return why = reason::home_region, home[i];
    if (rule == placement_rule::follow_data)
      if (device const d = first_operand(s); !d.is_none()) return why = reason::followed_data, d;
    if (device const d = gpu_of_operands(s); !d.is_none()) return why = reason::most_operands, d;
    return why = reason::first_gpu, gpu(0);
  }

  static constexpr plan_error refusal_of(step const& s) {
    return s.why == reason::no_cpu_kernel ? plan_error::strict_on_cpu
                                          : plan_error::strict_placement;
  }
  constexpr verdict settle(short i, device d, reason why) {
    step& s = p.steps[i];
    s.why = why;
    if (!has_kernel(s, d)) {
      device const other = d.is_gpu() ? cpu(0) : gpu(0);
      if (!has_kernel(s, other)) return {plan_error::no_kernel, i};
      s.fell_back = true;
      s.why = d.is_gpu() ? reason::no_gpu_kernel : reason::no_cpu_kernel;
      if (s.strict) return {refusal_of(s), i};
      d = other;
    }
    s.where = single(d);
    return {};
  }
  constexpr void settle_view(step& s) {
    s.where = p.steps[p.operands(s)[0].from].where;
    if (s.where.is_nowhere()) s.where = single(s.request.is_none() ? gpu(0) : s.request);
    s.why = s.is_view() ? reason::view : reason::one_kernel;
  }
  /// another step decides the place of this one
  static constexpr bool is_bound(step const& s) { return s.is_view() || s.is_sibling(); }

  constexpr verdict in_order() {
    for (short i = 0; i < p.steps.count; ++i) {
      step& s = p.steps[i];
      if (!undecided(s) || s.generated) continue;
      if (is_bound(s)) {
        settle_view(s);
        continue;
      }
      reason why = reason::undecided;
      device const d = wanted(i, why);
      if (verdict const v = settle(i, d, why); v.error != plan_error::none) return v;
    }
    for (short i = static_cast<short>(p.steps.count); i-- > 0;)
      if (undecided(p.steps[i]) && p.steps[i].generated) follow_readers(i);
    return {};
  }
  /// a generator runs where its readers do; it has kernels everywhere, so no error is possible
  constexpr void follow_readers(short i) {
    place const at = wanted_by_readers(p, i);
    step& s = p.steps[i];
    s.why = reason::with_readers;
    s.where = at.is_single() && !at.is_nowhere() ? at : single(wanted(i, s.why));
  }

  // ---- min_copies: exact dynamic programming ----
  // cost[c][i] = least traffic if step i runs on choice c, with operands at their best places.
  // Steps with several readers are placed first and stay there.
  static constexpr int max_choices = 256;  // as many devices as there are codes
  static constexpr std::int64_t never = std::int64_t(1) << 56;

  struct program {
    device choice[max_choices]{cpu(0), gpu(0)};
    int choices = 2;
    std::int64_t cost[max_choices][max_steps]{};  // a compiler makes only the rows in use
    bool by_bytes = true;
    constexpr void offer(device d) {
      for (int c = 0; c < choices; ++c)
        if (choice[c] == d) return;
      if (!d.is_none()) choice[choices++] = d;
    }
    constexpr std::int64_t edge_cost(step const& s, int from, int to) const {
      bool const free = from == to || s.kind == step_kind::scalar || s.kind == step_kind::index;
      return free ? 0 : by_bytes ? s.bytes() : 1;
    }
    /// the choice from which choice `to` (any, if negative) gets step i with the least traffic; of
    /// equal ones the GPU
    constexpr int best(step const& s, int i, int to) const {
      int pick = 0;
      std::int64_t least = 0;
      for (int c = 0; c < choices; ++c) {
        std::int64_t const v = cost[c][i] + (to < 0 ? 0 : edge_cost(s, c, to));
        bool const better =
            c == 0 || v < least || (v == least && choice[c].is_gpu() && !choice[pick].is_gpu());
        if (better) least = v, pick = c;
      }
      return pick;
    }
  };

  constexpr verdict by_cost() {
    program g;
    int readers[max_steps]{};
    for (step const& s : p.steps) {
      g.offer(s.request);
      if (s.kind == step_kind::leaf && s.where.is_single()) g.offer(s.where.at(0));
      if (!s.is_source() && s.bytes() == dyn) g.by_bytes = false;
      if (s.kind == step_kind::leaf && s.bytes() == dyn) g.by_bytes = false;
      for (edge const& e : p.operands(s)) ++readers[e.from];
    }
    for (root const& r : p.roots) {
      if (r.destination.is_single() && !r.destination.is_nowhere()) g.offer(r.destination.at(0));
      readers[r.from] += 2;  // placed before its readers
    }
    int chosen[max_steps]{};
    for (short i = 0; i < p.steps.count; ++i) {
      step const& s = p.steps[i];
      for (int c = 0; c < g.choices; ++c) {
        std::int64_t& v = g.cost[c][i];
        if (s.kind == step_kind::scalar || s.kind == step_kind::index || s.where.is_distributed())
          continue;
        if (s.kind == step_kind::leaf) {
          v = s.where.at(0) == g.choice[c] ? 0 : never;
          continue;
        }
        device const asked = s.request;
        bool const elsewhere = !asked.is_none() && has_kernel(s, asked) && !(asked == g.choice[c]);
        if (!has_kernel(s, g.choice[c]) || (elsewhere && !is_bound(s))) {
          v = never;
          continue;
        }
        for (edge const& e : p.operands(s)) {
          int const from = g.best(p.steps[e.from], e.from, c);
          v += g.cost[from][e.from] + g.edge_cost(p.steps[e.from], from, c);
          if (is_bound(s) && from != c) v = never;
          if (v > never) v = never;
        }
      }
      if (readers[i] <= 1 || !undecided(s)) continue;
      int const to = goal_of(g, i);
      chosen[i] = g.best(s, i, to);
      trace(g, chosen, readers, i);
      for (int c = 0; c < g.choices; ++c) g.cost[c][i] = c == chosen[i] ? 0 : never;
    }
    for (short i = 0; i < p.steps.count; ++i) {
      step& s = p.steps[i];
      if (!undecided(s)) continue;
      device const d = g.choice[chosen[i]];
      s.where = single(d);
      s.why = !s.request.is_none() ? reason::requested : reason::cheapest;
      if (is_bound(s)) settle_view(s);
      bool const refused = !s.request.is_none() && !(s.request == d) && !is_bound(s);
      if (!has_kernel(s, d)) return {plan_error::no_kernel, i};
      if (refused) {
        s.fell_back = true;
        s.why = s.request.is_gpu() ? reason::no_gpu_kernel : reason::no_cpu_kernel;
        if (s.strict) return {refusal_of(s), i};
      }
    }
    return {};
  }
  /// the destination of a root as a choice; -1: none
  constexpr int goal_of(program const& g, short i) const {
    for (root const& r : p.roots)
      if (r.from == i && r.destination.is_single() && !r.destination.is_nowhere())
        for (int c = 0; c < g.choices; ++c)
          if (g.choice[c] == r.destination.at(0)) return c;
    return -1;
  }
  constexpr void trace(program const& g, int* chosen, int const* readers, short top) const {
    bool below[max_steps]{};
    below[top] = true;
    for (short i = top; i >= 0; --i) {
      if (!below[i]) continue;
      for (edge const& e : p.operands(p.steps[i])) {
        if (readers[e.from] > 1 || !undecided(p.steps[e.from])) continue;
        chosen[e.from] = g.best(p.steps[e.from], e.from, chosen[i]);
        below[e.from] = true;
      }
    }
  }
};

}  // namespace detail

/// means: sets steps[i].where for every step that distribute left undecided
constexpr verdict place_steps(plan_view& p, placement_rule rule) {
  detail::placer placer{p, rule};
  if (rule == placement_rule::min_copies) return placer.by_cost();
  placer.find_homes();
  return placer.in_order();
}

}  // namespace locus
