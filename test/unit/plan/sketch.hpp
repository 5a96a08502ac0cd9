// SPDX-License-Identifier: Apache-2.0
// A plan drawn by hand: steps in arrays, without a type behind them, for passes over random graphs.
#pragma once
#include <random>
#include <vector>

#include <locus/device/policy.hpp>
#include <locus/plan/distribute.hpp>
#include <locus/plan/fuse.hpp>
#include <locus/plan/guards.hpp>
#include <locus/plan/memory.hpp>
#include <locus/plan/move.hpp>
#include <locus/plan/place.hpp>
#include <locus/plan/schedule.hpp>
#include <locus/plan/show/facts.hpp>

namespace plans {

using namespace locus;
using bit_engine = std::mt19937;

class sketch {
 public:
  short add(step s, std::vector<short> const& operands) {
    s.arity = static_cast<short>(operands.size()), s.first_edge = static_cast<short>(edge_count);
    for (short o : operands) edges[edge_count++].from = o;
    s.element_bytes = s.element_bytes ? s.element_bytes : 4;
    s.type = element::f32;
    steps[count] = s;
    return static_cast<short>(count++);
  }
  short leaf(place const& where, shape const& of) {
    step s;
    s.name = "leaf", s.where = where, s.extents = of, s.why = reason::leaf;
    return add(s, {});
  }
  short scalar() {
    step s;
    s.kind = step_kind::scalar, s.name = "scalar";
    return add(s, {});
  }
  /// -1 where the shapes do not fit
  short map(std::vector<short> const& operands, law commutes = law::none, bool heavy = false) {
    step s;
    s.kind = step_kind::map, s.name = "map", s.commutes = commutes, s.heavy = heavy;
    s.extents = steps[operands[0]].extents;
    for (short o : operands) s.extents = broadcast(s.extents, steps[o].extents);
    return fits(s.extents) ? add(s, operands) : short(-1);
  }
  short reduce(short from, axis_set axes, bool keep, reduction with = reduction::sum) {
    step s;
    s.kind = step_kind::reduce, s.name = "reduce", s.axes = axes, s.keep = keep, s.combines = with;
    s.commutes = with == reduction::sum ? law::linear : law::none;
    s.extents = reduced(steps[from].extents, axes, keep);
    return add(s, {from});
  }
  short matmul(short a, short b) {
    step s;
    s.kind = step_kind::matmul, s.name = "matmul", s.commutes = law::scale;
    s.extents = contract(steps[a].extents, steps[b].extents);
    return fits(s.extents) ? add(s, {a, b}) : short(-1);
  }
  short transpose(short from) {
    step s;
    s.kind = step_kind::transpose, s.name = "transpose", s.commutes = law::linear, s.dense = false;
    int const rank = steps[from].extents.rank;
    for (int i = 0; i < rank; ++i) s.order[i] = static_cast<signed char>(rank - 1 - i);
    s.extents = permuted(steps[from].extents, s.order);
    return add(s, {from});
  }
  short expand(short from) {
    step s;
    s.kind = step_kind::expand, s.name = "expand", s.commutes = law::linear;
    s.extents = expanded(steps[from].extents, 0);
    return fits(s.extents) ? add(s, {from}) : short(-1);
  }
  void ask(short from, place const& destination = {}) {
    roots[root_count].from = from, roots[root_count++].destination = destination;
  }
  plan_view& view() {
    seen = {{steps, count},      {edges, edge_count},           {transfers, seen.transfers.count},
            {roots, root_count}, {actions, seen.actions.count}, {levels, count}};
    return seen;
  }
  array_view<edge> operands(short i) { return view().operands(steps[i]); }

  /// all passes behind place; the extents are static
  plan_error finish(placement_rule rule = placement_rule::prefer_gpu) {
    plan_view& p = view();
    if (verdict const v = distribute(p); v.error != plan_error::none) return v.error;
    if (verdict const v = place_steps(p, rule); v.error != plan_error::none) return v.error;
    if (verdict const v = move_values(p); v.error != plan_error::none) return v.error;
    fuse(p, numerics::exact, guesses);
    schedule(p);
    for (int i = 0; i < count; ++i) extents[i] = steps[i].extents;
    lay_out(p, slots_view(), extents);
    return plan_error::none;
  }
  array_view<slot> slots_view() { return {slots, count + seen.transfers.count}; }

  step steps[max_steps];
  edge edges[4 * max_steps];
  transfer transfers[4 * max_steps];
  root roots[8];
  action actions[8 * max_steps];
  level levels[max_steps]{};
  slot slots[8 * max_steps];
  shape extents[max_steps];
  int count = 0, edge_count = 0, root_count = 0;
  bool guesses = false;
  plan_view seen{};
};

inline int pick(bit_engine& bits, int n) { return static_cast<int>(bits() % unsigned(n)); }
inline bool chance(bit_engine& bits, int percent) { return pick(bits, 100) < percent; }

/// means: steps over leaves that lie on one of those places: maps, folds, products, views, two roots
inline void draw(sketch& g, bit_engine& bits, std::vector<place> const& places, int size) {
  shape const shapes[] = {{},          {1, {4}},    {2, {4, 4}}, {2, {4, 4}},
                          {2, {8, 4}}, {2, {4, 1}}, {1, {1}}};
  auto any = [&] { return static_cast<short>(pick(bits, g.count)); };
  auto recent = [&] {
    int const back = g.count < 4 ? g.count : 4;
    return chance(bits, 60) ? static_cast<short>(g.count - 1 - pick(bits, back)) : any();
  };
  auto last_axis = [&](short i) {
    return static_cast<axis_set>(1u << (g.steps[i].extents.rank - 1));
  };
  g.leaf(places[std::size_t(pick(bits, int(places.size())))], shapes[pick(bits, 7)]);
  while (g.count < size) {
    short const a = recent();
    if (g.steps[a].kind == step_kind::scalar) {
      g.leaf(places[std::size_t(pick(bits, int(places.size())))], shapes[pick(bits, 7)]);
      continue;
    }
    switch (pick(bits, 12)) {
    case 0:
      g.leaf(places[std::size_t(pick(bits, int(places.size())))], shapes[pick(bits, 7)]);
      break;
    case 1: g.map({a, g.scalar()}); break;
    case 2:
    case 3: g.map({a}, law::none, chance(bits, 30)); break;
    case 4:
    case 5:
    case 6: g.map({a, any()}, law::none, chance(bits, 20)); break;
    case 7: g.map({a, any(), any()}); break;
    case 8:
      if (g.steps[a].extents.rank > 0) g.reduce(a, last_axis(a), chance(bits, 60));
      break;
    case 9:
      g.reduce(a, all_axes(g.steps[a].extents.rank), false,
               chance(bits, 50) ? reduction::max : reduction::sum);
      break;
    case 10: g.matmul(a, any()); break;
    default: g.transpose(a); break;
    }
  }
}

}  // namespace plans
