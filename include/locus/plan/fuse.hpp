// SPDX-License-Identifier: Apache-2.0
// Pass 5: which steps share a kernel? A region is a maximal set of element-wise steps on one device
// with the reductions they feed. It ends in one step (its number is the region's), or in several of
// one shape.
//
//   element:  y = exp(x) * 2 + b                       one value for each element of the space
//   fold:     sum over an axis set of such values      the space is that of the fold's operand
//   row:      sqrt(sum(square(x))) * 2                 element-wise steps behind a fold, one value
//   per row element behind folds: exp(x - m) / s               rows of the last axis, m and s its
//   folds (softmax)
#pragma once
#include <locus/plan/data.hpp>  // plan_view, level

namespace locus {

namespace detail {

struct fuser {
  plan_view& p;
  bool lone_folds = false;
  struct region {
    shape space{};      // of elements
    axis_set axes = 0;  // of its folds
    bool has_fold = false;
    bool rows_end = false;  // it ends in row values: a fold with what follows it
  };
  region regions[max_steps]{};  // [step that ends it]
  bool is_root[max_steps]{};

  static constexpr bool joins(step const& s) {
    return s.kind == step_kind::map || s.kind == step_kind::reduce;
  }
  /// equal for certain: open extents may differ when the program runs
  static constexpr bool same(shape const& a, shape const& b) { return a == b && a.is_static(); }
  static constexpr bool last_axis_only(step const& reduce, shape const& operand) {
    return operand.rank >= 2 && reduce.axes == axis_set(1u << (operand.rank - 1));
  }
  constexpr shape const& operand_shape(step const& s) const {
    return p.steps[p.operands(s)[0].from].extents;
  }

  constexpr void open(short i) {
    step& me = p.steps[i];
    me.region = i, me.stored = true;
    region& g = regions[i];
    if (me.kind == step_kind::reduce)
      g = {operand_shape(me), me.axes, true, true}, p.levels[i] = level::fold;
    else
      g = {me.extents, 0, false, false}, p.levels[i] = level::element;
  }

  /// the one region and level of all readers; false where there is none
  constexpr bool find_readers(short i, short& at, level& reader_level) const {
    at = -1;
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k])) {
        if (e.from != i) continue;
        step const& s = p.steps[k];
        if (e.by >= 0 || !joins(s) || s.region < 0 || (at >= 0 && at != s.region)) return false;
        level const here = p.levels[k] == level::fold ? level::element : p.levels[k];
        if (at >= 0 && here != reader_level) return false;
        at = s.region, reader_level = here;
      }
    return at >= 0;
  }
  /// steps of the region that read i from different folds or from behind them
  constexpr int stages(short i) const {
    int n = 0;
    bool behind = false;
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k]))
        if (e.from == i) {
          if (p.levels[k] == level::fold)
            ++n;
          else
            behind = true;
        }
    return n + behind;
  }

  /// a kernel takes all that regions a and b would read, fold and write, with step i at that level
  constexpr bool has_room(short a, short b, short i = -1, level of_i = level::element) const {
    auto joined = [&](short k) {
      return k == i ||
             (p.steps[k].region >= 0 && (p.steps[k].region == a || p.steps[k].region == b));
    };
    bool counted[2][max_steps]{};
    int inputs = 0, folds = 0, outputs = 0;
    for (short k = 0; k < p.steps.count; ++k) {
      if (!joined(k)) continue;
      folds += p.steps[k].kind == step_kind::reduce;
      outputs += p.steps[k].stored;
      bool const row = (k == i ? of_i : p.levels[k]) == level::row;
      for (edge const& e : p.operands(p.steps[k])) {
        bool const inside = joined(e.from) && e.by < 0;
        if (inside || counted[row][e.from] || p.steps[e.from].kind == step_kind::scalar) continue;
        counted[row][e.from] = true, ++inputs;
      }
    }
    return inputs <= max_region_values && folds <= max_region_values &&
           outputs <= max_region_values;
  }

  constexpr bool map_joins(short i, short at, level reader_level) {
    step const& me = p.steps[i];
    region const& g = regions[at];
    shape const& space = reader_level == level::row ? p.steps[at].extents : g.space;
    bool const stretched = !(me.extents == space);
    if (stretched && me.heavy)
      return false;  // not computed again for each element it is stretched to
    if (g.has_fold && !me.builtin && stages(i) > 1) return false;
    p.levels[i] = reader_level;
    return true;
  }
  /// a fold of the region carries numbers beside its values: in one kernel it is the only one
  constexpr bool ranks(short at) const {
    for (step const& s : p.steps)
      if (s.region == at && s.kind == step_kind::reduce && s.type == element::other) return true;
    return false;
  }
  constexpr bool reduce_joins(short i, short at, level reader_level) {
    step const& me = p.steps[i];
    region& g = regions[at];
    shape const& from = operand_shape(me);
    if (g.has_fold && (me.type == element::other || ranks(at))) return false;
    if (reader_level == level::element && !g.has_fold && (all_rows(at, me) || reads_only(at, i))) {
      g = {from, me.axes, true, true};  // what was there becomes what follows the fold
      for (short k = 0; k < p.steps.count; ++k)
        if (p.steps[k].region == at) p.levels[k] = level::row;
      p.levels[i] = level::fold;
      return true;
    }
    if (lone_folds) return false;
    bool const rows = me.keep && last_axis_only(me, from) && from == g.space;
    if (reader_level != level::element || !rows) return false;
    if (g.has_fold && g.axes != me.axes) return false;
    g.has_fold = true, g.axes = me.axes;
    p.levels[i] = level::fold;
    return true;
  }
  /// every step of the region has one value for each value of the fold: it can follow the fold
  constexpr bool all_rows(short at, step const& fold) const {
    for (step const& s : p.steps)
      if (s.region == at && s.extents.rank > 0 && !same(s.extents, fold.extents)) return false;
    return same(p.steps[at].extents, fold.extents);
  }
  /// the region reads nothing but the fold and scalars: its extents are the fold's
  constexpr bool reads_only(short at, short fold) const {
    for (step const& s : p.steps)
      if (s.region == at)
        for (edge const& e : p.operands(s)) {
          step const& o = p.steps[e.from];
          if (e.from != fold && o.kind != step_kind::scalar && o.region != at) return false;
        }
    return true;
  }

  // ---- several outputs: regions that read one value become one, so that it is computed once ----
  /// region `from` must have run before region `to` can: by whatever way, through all that a region
  /// on this way makes, since it makes it at once
  constexpr bool leads_to(short from, short to) const {
    bool reached[max_steps]{};  // [step]
    bool waits[max_steps]{};    // [region]
    waits[from] = true;
    for (bool more = true; more;) {
      more = false;
      for (short k = 0; k < p.steps.count; ++k) {
        short const mine = p.steps[k].region;
        bool now = mine >= 0 && waits[mine];
        for (edge const& e : p.operands(p.steps[k])) now = now || reached[e.from];
        if (reached[k] || !now) continue;
        if (mine == to) return true;
        reached[k] = more = true;
        if (mine >= 0) waits[mine] = true;
      }
    }
    return false;
  }
  constexpr bool can_share(short a, short b) const {
    return !regions[a].has_fold && !regions[b].has_fold && p.steps[a].kind == step_kind::map &&
           p.steps[b].kind == step_kind::map && same(p.steps[a].extents, p.steps[b].extents) &&
           p.steps[a].where == p.steps[b].where && !leads_to(a, b) && !leads_to(b, a) &&
           has_room(a, b);
  }
  /// makes the regions that read i one region, if i's value is of their shape and they do not wait
  /// for one another
  constexpr bool join_readers(short i) {
    short at = -1;
    bool several = false;  // one region alone had its reasons
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k])) {
        if (e.from != i) continue;
        step const& s = p.steps[k];
        bool const element = joins(s) && s.region >= 0 && p.levels[k] == level::element;
        if (e.by >= 0 || !element || !same(s.extents, p.steps[i].extents)) return false;
        short const here = s.region;
        if (at < 0) at = here;
        if (here == at) continue;
        if (!can_share(at, here)) return false;
        short const last = at > here ? at : here;
        for (step& other : p.steps)
          if (other.region == at || other.region == here) other.region = last;
        at = last, several = true;
      }
    return several && same(p.steps[at].extents, p.steps[i].extents) &&
           p.steps[at].where == p.steps[i].where && has_room(at, at, i);
  }

  /// a transpose or a slice has gaps; a reshape of what has gaps must copy
  constexpr void find_dense() {
    for (step& s : p.steps) {
      if (s.kind == step_kind::transpose || s.kind == step_kind::slice) s.dense = false;
      if (s.kind == step_kind::expand) s.dense = p.steps[p.operands(s)[0].from].dense;
    }
  }
  constexpr bool looks_only(step const& s) const {
    return s.is_view() && (s.kind != step_kind::reshape || p.steps[p.operands(s)[0].from].dense);
  }

  /// step i, which had a region of its own, becomes a part of its readers'
  constexpr void close_into_readers(short i) {
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k]))
        if (e.from == i) p.steps[i].region = p.steps[k].region;
    p.steps[i].stored = false;
  }

  constexpr void run() {
    find_dense();
    for (root const& r : p.roots) is_root[r.from] = true;
    for (short i = static_cast<short>(p.steps.count); i-- > 0;) {
      step& me = p.steps[i];
      if (me.is_source() || looks_only(me)) continue;
      if (!joins(me)) {
        me.region = i, me.stored = true;
        continue;
      }
      short at = -1;
      level reader_level = level::element;
      bool const together = !is_root[i] && find_readers(i, at, reader_level) &&
                            p.steps[at].where == me.where && has_room(at, at, i, reader_level);
      bool const joined =
          together && (me.kind == step_kind::map ? map_joins(i, at, reader_level)
                                                 : reduce_joins(i, at, reader_level));
      if (joined)
        me.region = at;
      else {
        open(i);
        if (me.kind == step_kind::map && !is_root[i] && join_readers(i)) close_into_readers(i);
      }
    }
  }
};

}  // namespace detail

/// means: steps[i].region, stored and levels[i]
/// lone_folds: each fold has a kernel of its own
constexpr void fuse(plan_view& p, bool lone_folds = false) { detail::fuser{p, lone_folds}.run(); }

}  // namespace locus
