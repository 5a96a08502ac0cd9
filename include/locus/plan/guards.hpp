// SPDX-License-Identifier: Apache-2.0
// Guards: which extents the kernels of a plan take for equal and no set of atoms proves. Guards are
// found from the regions behind the pass fuse, so guards check the pass, too: a plan without guesses has none.
#pragma once
#include <locus/plan/data.hpp>     // plan_view, guard
#include <locus/plan/symbols.hpp>  // symbols

namespace locus {

namespace detail {

struct guard_finder {
  plan_view const& p;
  guard* to;
  int count = 0;
  symbols known{p};

  constexpr void claim(short a, short b) {
    if (known.certain(a, b)) return;
    guard const one = a < b ? guard{a, b} : guard{b, a};
    for (int k = 0; k < count; ++k)
      if (to[k] == one) return;
    to[count++] = one;
  }
  constexpr short operand_of(short fold) const { return p.operands(p.steps[fold])[0].from; }
  /// an element of the region reads fold i
  constexpr bool is_in_chain(short i, short at) const {
    for (short k = static_cast<short>(i + 1); k <= at; ++k)
      if (p.steps[k].region == at && level_read_by(p, k) == level::element)
        for (edge const& e : p.operands(p.steps[k]))
          if (e.from == i && e.by < 0) return true;
    return false;
  }
  /// what the kernel of region `at` takes for equal: the spaces of its folds, and the extents of the
  /// values that it stores at each level; folds of a chain need rows of one length alone
  constexpr void look_at(short at) {
    short fold = -1;
    bool chained = false;
    for (short i = 0; i <= at; ++i) {
      if (p.steps[i].region != at || p.levels[i] != level::fold) continue;
      fold = i;
      chained = chained || is_in_chain(i, at);
    }
    bool const of_elements = fold < 0 || (chained && p.levels[at] == level::element);
    short const space = of_elements ? at : operand_of(fold);
    for (short i = 0; i <= at; ++i) {
      if (p.steps[i].region != at) continue;
      if (p.levels[i] == level::fold) {
        if (!is_in_chain(i, at) || !known.certain_rows(space, operand_of(i)))
          claim(space, operand_of(i));
      } else if (p.steps[i].stored)
        claim(p.levels[i] == level::row ? fold : space, i);
    }
  }
};

}  // namespace detail

/// means: to[...] = the guards of the plan's regions, at most one for each step; their number
constexpr int find_guards(plan_view const& p, guard* to) {
  detail::guard_finder g{p, to};
  if (g.known.has_open())
    for (short i = 0; i < p.steps.count; ++i)
      if (p.steps[i].region == i &&
          (p.steps[i].kind == step_kind::map || p.steps[i].kind == step_kind::reduce))
        g.look_at(i);
  return g.count;
}

/// means: the first guard that does not hold for the extents of a run; null: all hold
constexpr guard const* find_broken(array_view<guard> guards, shape const* extents) {
  for (guard const& g : guards)
    if (!(extents[g.a] == extents[g.b])) return &g;
  return nullptr;
}

}  // namespace locus
