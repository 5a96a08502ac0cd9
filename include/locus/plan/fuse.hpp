// SPDX-License-Identifier: Apache-2.0
// Pass 5: which steps share a kernel? A region is a maximal set of element-wise steps on one
// device, the reductions of their values, and a matrix product that only they read: on a CPU any
// product, on GPUs one to which they add a row. The number of a region is that of its last step. A
// region may store several values: of elements, and of rows.
//
//   element:  y = exp(x) * 2 + b                    one value for each element of the space
//   fold:     sum over an axis set of such values   the space is that of its operand; several
//                                                   folds of one space and axis set run in one pass
//   row:      sqrt(sum(square(x))) * 2              element-wise steps after folds: one value a row
//   element behind folds (a chain): exp(x - m) / s  rows of the last axis, m and s its folds
//                                                   (softmax); it stores elements or rows
#pragma once
#include <locus/core/numerics.hpp>  // numerics
#include <locus/plan/data.hpp>      // plan_view, level
#include <locus/plan/symbols.hpp>   // symbols

namespace locus {

namespace detail {

struct fuser {
  plan_view& p;
  numerics bits = numerics::exact;
  bool lone_folds = bits == numerics::reproducible;
  bool guesses = false;
  symbols known{p};
  struct region {
    short fold = -1;       // one of its folds; all have one space and axis set
    bool chained = false;  // elements read folds
    // of a region whose readers are decided (share_passes)
    bool waits = false, multiplies = false;  // it reads a transfer, a matrix product
  };
  region regions[max_steps]{};  // [its last step]
  bool is_root[max_steps]{};

  static constexpr bool joins(step const& s) {
    return s.kind == step_kind::map || s.kind == step_kind::reduce;
  }
  /// steps i and k have equal extents, or the plan guesses so
  constexpr bool alike(short i, short k) const {
    return known.certain(i, k) || (guesses && p.steps[i].extents == p.steps[k].extents);
  }
  static constexpr axis_set axes_of_rows(shape const& space) {
    return space.rank >= 2 ? axis_set(1u << (space.rank - 1)) : axis_set(0);
  }
  constexpr bool folds_rows(step const& s) const {
    return s.kind == step_kind::reduce && s.keep && s.axes != 0 &&
           s.axes == axes_of_rows(operand_shape(s));
  }
  /// s reads a fold of rows that was computed from another such fold
  constexpr bool ends_chain(step const& s) const {
    for (edge const& e : p.operands(s)) {
      if (e.by >= 0 || !folds_rows(p.steps[e.from])) continue;
      bool read[max_steps]{};  // by the fold, before any other fold
      read[p.operands(p.steps[e.from])[0].from] = true;
      for (short k = e.from; k-- > 0;) {
        if (read[k] && folds_rows(p.steps[k])) return true;
        if (!read[k] || p.steps[k].kind != step_kind::map) continue;
        for (edge const& o : p.operands(p.steps[k])) read[o.from] = true;
      }
    }
    return false;
  }
  constexpr shape const& operand_shape(step const& s) const {
    return p.steps[p.operands(s)[0].from].extents;
  }

  constexpr place const& operand_place(step const& s) const {
    edge const& e = p.operand(s, 0);
    return e.by >= 0 ? p.transfers[e.by].arrives : p.steps[e.from].where;
  }
  /// the step that has the extents of the region's elements
  constexpr short space_step(short at) const {
    return has_fold(at) ? p.operands(fold_of(at))[0].from : at;
  }
  constexpr bool has_fold(short at) const { return regions[at].fold >= 0; }
  constexpr step const& fold_of(short at) const { return p.steps[regions[at].fold]; }
  /// extents and place of the region's elements
  constexpr shape const& space_of(short at) const {
    return has_fold(at) ? operand_shape(fold_of(at)) : p.steps[at].extents;
  }
  constexpr place const& place_of(short at) const {
    return has_fold(at) ? operand_place(fold_of(at)) : p.steps[at].where;
  }

  constexpr void open(short i) {
    p.steps[i].region = i, p.steps[i].stored = true;
    bool const fold = p.steps[i].kind == step_kind::reduce;
    regions[i].fold = fold ? i : short(-1);
    p.levels[i] = fold ? level::fold : level::element;
  }

  /// finds the one region and level of all readers; false if there are several or none
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
  /// the number of passes over a row in which the region reads i: one for each fold, one after the
  /// folds
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

  struct values {
    int inputs = 0, folds = 0, outputs = 0;
  };
  /// the values that one kernel of regions a and b reads, folds and writes, with step i at that level
  constexpr values values_of(short a, short b, short i = -1, level of_i = level::element) const {
    auto joined = [&](short k) {
      return k == i ||
             (p.steps[k].region >= 0 && (p.steps[k].region == a || p.steps[k].region == b));
    };
    bool counted[2][max_steps]{};
    values n;
    for (short k = 0; k < p.steps.count; ++k) {
      if (!joined(k)) continue;
      n.folds += p.steps[k].kind == step_kind::reduce;
      n.outputs += p.steps[k].stored;
      bool const row = (k == i ? of_i : p.levels[k]) == level::row;
      for (edge const& e : p.operands(p.steps[k])) {
        bool const inside = joined(e.from) && e.by < 0;
        if (inside || counted[row][e.from] || p.steps[e.from].kind == step_kind::scalar) continue;
        counted[row][e.from] = true, ++n.inputs;
      }
    }
    return n;
  }
  constexpr bool has_room(short a, short b, short i = -1, level of_i = level::element) const {
    values const n = values_of(a, b, i, of_i);
    return n.inputs <= max_region_values && n.folds <= max_region_values &&
           n.outputs <= max_region_values;
  }

  /// the region stores either only elements or only rows
  constexpr bool stores_one_level(short at, level of) const {
    for (short k = 0; k < p.steps.count; ++k)
      if (p.steps[k].region == at && p.steps[k].stored &&
          (p.levels[k] == level::element) != (of == level::element))
        return false;
    return true;
  }
  /// with lone_folds, the kernel of a fold stores one value
  constexpr bool may_store(short i, short at) const {
    if (!lone_folds || (p.steps[i].kind == step_kind::map && !has_fold(at))) return true;
    int stored = is_root[i];
    for (step const& s : p.steps) stored += s.region == at && s.stored;
    return stored <= 1;
  }
  constexpr bool map_joins(short i, short at, level reader_level) {
    step const& me = p.steps[i];
    bool const row = reader_level == level::row, chained = regions[at].chained;
    shape const& space = row ? fold_of(at).extents : space_of(at);
    if (!(me.where == (row ? fold_of(at).where : place_of(at)))) return false;
    short const sized = row ? regions[at].fold : chained ? at : space_step(at);
    bool const stretched = !(me.extents == space);
    if (stretched && me.heavy) return false;  // not repeated for each element of a broadcast
    if (!row && has_fold(at) && fold_of(at).axes != axes_of_rows(space) && ends_chain(me))
      return false;  // its folds join it row by row, but not the region's folds
    if (is_root[i] && (!alike(i, sized) || (!row && ranks(at)) || !may_store(i, at))) return false;
    if (chained && is_root[i] && !stores_one_level(at, reader_level)) return false;
    if (chained && !me.builtin && stages(i) > 1) return false;
    p.levels[i] = reader_level;
    return true;
  }
  /// a fold of the region has indices beside its values (argmax): then it must be the only fold
  constexpr bool ranks(short at) const {
    for (step const& s : p.steps)
      if (s.region == at && s.kind == step_kind::reduce && s.type == element::other) return true;
    return false;
  }
  constexpr bool reduce_joins(short i, short at, level reader_level) {
    step const& me = p.steps[i];
    region& g = regions[at];
    if (has_fold(at) && (me.type == element::other || ranks(at))) return false;
    if (reader_level == level::row) {  // another fold of the same pass
      if (lone_folds || g.chained || !folds_alike(i, g.fold)) return false;
    } else if (!has_fold(at) && me.where == p.steps[at].where && may_store(i, at) &&
               all_rows(at, i)) {
      for (short k = 0; k < p.steps.count; ++k)  // the steps so far now follow the fold
        if (p.steps[k].region == at) p.levels[k] = level::row;
      g.fold = i;
    } else if (!lone_folds && !is_root[i] && can_chain(at, me)) {
      if (!has_fold(at)) g.fold = i;
      g.chained = true;
    } else
      return false;
    p.levels[i] = level::fold;
    return true;
  }
  /// the fold `me` can be in region `at`, although elements of the region read the fold: each
  /// element reads the value of its own row
  constexpr bool can_chain(short at, step const& me) const {
    if (!folds_rows(me) || !(operand_shape(me) == space_of(at))) return false;
    if (!guesses && !known.certain_rows(p.operands(me)[0].from, space_step(at))) return false;
    if (!(me.where == place_of(at) && operand_place(me) == place_of(at))) return false;
    if (has_fold(at) && fold_of(at).axes != me.axes) return false;
    for (short k = 0; k < p.steps.count; ++k)  // a functor of the program is called once
      if (p.steps[k].region == at && !p.steps[k].builtin && stages(k) > 1) return false;
    return stores_one_level(at, p.levels[at]);
  }
  /// every step of the region has one value for each value of the fold, so it can follow the fold
  constexpr bool all_rows(short at, short fold) const {
    for (short k = 0; k < p.steps.count; ++k)
      if (p.steps[k].region == at && p.steps[k].extents.rank > 0 && !alike(k, fold)) return false;
    return alike(at, fold);
  }

  // ---- several outputs: regions that read one value become one region ----
  /// region `to` depends on region `from`, directly or through other regions; a region waits for
  /// the operands of all its steps
  constexpr bool leads_to(short from, short to) const {
    bool reached[max_steps]{};  // [step]
    bool waits[max_steps]{};    // [region]
    waits[from] = true;
    for (bool more = true; more;) {
      more = false;
      for (short k = 0; k < p.steps.count; ++k) {
        short const mine = p.steps[k].region;
        bool now = mine >= 0 && waits[mine];
        for (edge const& e : p.operands(p.steps[k])) now = now || brings(reached, e);
        if (reached[k] || !now) continue;
        if (mine == to) return true;
        reached[k] = more = true;
        if (mine >= 0) waits[mine] = true;
      }
    }
    return false;
  }
  /// the operand depends on a reached step; each all-reduce of a bucket depends on the terms of all
  /// of them
  constexpr bool brings(bool const* reached, edge const& e) const {
    bool now = reached[e.from];
    if (e.by < 0 || p.transfers[e.by].bucket < 0) return now;
    for (transfer const& t : p.transfers)
      now = now || (t.bucket == p.transfers[e.by].bucket && reached[t.from]);
    return now;
  }
  static constexpr bool one_cut(place const& a, place const& b) {
    return a.devices == b.devices && a.how == b.how && a.axis == b.axis;
  }
  /// folds i and k have one space and the same axes: one pass computes both
  constexpr bool folds_alike(short i, short k) const {
    step const &a = p.steps[i], &b = p.steps[k];
    return a.axes == b.axes && a.keep == b.keep &&
           alike(p.operands(a)[0].from, p.operands(b)[0].from) &&
           operand_place(a) == operand_place(b) && one_cut(a.where, b.where);
  }
  constexpr bool can_share(short a, short b) const {
    if (!joins(p.steps[a]) || !joins(p.steps[b])) return false;
    if (regions[a].chained || regions[b].chained) return false;
    if (lone_folds && (has_fold(a) || has_fold(b))) return false;
    bool const one_space = has_fold(a) && has_fold(b)
                               ? folds_alike(regions[a].fold, regions[b].fold)
                               : alike(space_step(a), space_step(b)) && place_of(a) == place_of(b);
    return one_space && !ranks(a) && !ranks(b) && has_room(a, b) && !leads_to(a, b) &&
           !leads_to(b, a);
  }
  /// makes regions a and b one region
  constexpr short unite(short a, short b) {
    short const last = a > b ? a : b;
    region const &one = regions[a], &other = regions[b];
    for (step& s : p.steps)
      if (s.region == a || s.region == b) s.region = last;
    regions[last] = {has_fold(a) ? one.fold : other.fold, false, one.waits || other.waits,
                     one.multiplies || other.multiplies};
    return last;
  }
  /// computed for each element of step k, value i costs no more than once: it has those extents. A
  /// value in memory must have them; another may stretch if a run decides so
  constexpr bool is_read_once(short i, short k) const {
    return alike(i, k) || (!is_root[i] && known.related(i, k));
  }
  /// makes the regions that read i one region, if i has their extents and none of them depends on
  /// another
  constexpr bool join_readers(short i) {
    short at = -1;
    bool several = false;  // if all read i in one region, find_readers() refused it
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k])) {
        if (e.from != i) continue;
        step const& s = p.steps[k];
        if (e.by >= 0 || !joins(s) || s.region < 0 || p.levels[k] == level::row) return false;
        bool const fold = p.levels[k] == level::fold;
        if (!is_read_once(i, fold ? i : k)) return false;
        short const here = s.region;
        if (at < 0) at = here;
        if (here == at) continue;
        if (!can_share(at, here)) return false;
        at = unite(at, here), several = true;
      }
    return several && is_read_once(i, space_step(at)) && place_of(at) == p.steps[i].where &&
           has_room(at, at, i);
  }

  /// both read one value, or tensors of one type and the extents of their space, which may be one
  constexpr bool read_alike(short a, short b) const {
    for (step const& s : p.steps) {
      if (s.region != a) continue;
      for (edge const& e : p.operands(s)) {
        if (p.steps[e.from].region == a || !(p.steps[e.from].extents == space_of(a))) continue;
        for (step const& t : p.steps) {
          if (t.region != b) continue;
          for (edge const& f : p.operands(t))
            if (e.by == f.by && are_alike(e.from, f.from)) return true;
        }
      }
    }
    return false;
  }
  /// steps i and k are one value, or may lie in one tensor
  constexpr bool are_alike(short i, short k) const {
    step const &a = p.steps[memory_of(p, i)], &b = p.steps[memory_of(p, k)];
    return i == k || (a.kind == step_kind::leaf && b.kind == step_kind::leaf && a.type == b.type &&
                      a.extents == b.extents && a.where == b.where);
  }
  /// region `at` waits for that transfer, or for one that travels with it
  constexpr bool waits_for(short at, short by) const {
    short const bucket = p.transfers[by].bucket;
    for (step const& s : p.steps) {
      if (s.region != at) continue;
      for (edge const& e : p.operands(s))
        if (e.by == by || (e.by >= 0 && bucket >= 0 && p.transfers[e.by].bucket == bucket))
          return true;
    }
    return false;
  }
  /// region b waits for all transfers for which region a waits
  constexpr bool waits_as_long(short b, short a) const {
    for (step const& s : p.steps) {
      if (s.region != a) continue;
      for (edge const& e : p.operands(s))
        if (e.by >= 0 && !waits_for(b, e.by)) return false;
    }
    return true;
  }
  /// on GPUs one launch less: few values, so that each thread keeps all of them in registers
  constexpr bool saves_a_launch(short a, short b) const {
    if (!is_on_gpus(place_of(a)) || !known.certain(a, b)) return false;
    values const n = values_of(a, b);
    return n.inputs <= 8 && n.outputs <= 4;
  }
  /// one kernel is quicker than two of maps alone, and starts no later than either. A kernel that
  /// may compute a product, too (in panels, or with a row), stays alone.
  constexpr bool maps_gain(short a, short b) const {
    region const &one = regions[a], &other = regions[b];
    if (one.multiplies || other.multiplies) return false;
    if (one.waits != other.waits) return false;
    if (one.waits && !(waits_as_long(a, b) && waits_as_long(b, a))) return false;
    return read_alike(a, b) || saves_a_launch(a, b);
  }
  /// folds of one space share a pass over it, also with regions of maps that read the same tensors
  constexpr bool passes_gain(short a, short b) const {
    if (has_fold(a) && has_fold(b)) return true;
    return has_fold(a) || has_fold(b) ? read_alike(a, b) : maps_gain(a, b);
  }
  /// which regions read a transfer, and which a product
  constexpr void look_at_regions() {
    for (step const& s : p.steps)
      for (edge const& e : p.operands(s)) {
        if (s.region < 0) continue;
        region& me = regions[s.region];
        me.waits = me.waits || e.by >= 0;
        me.multiplies = me.multiplies || p.steps[e.from].kind == step_kind::matmul;
      }
  }
  /// regions of one space that gain by it become one region
  constexpr void share_passes() {
    int count = 0;
    for (short a = 0; a < p.steps.count; ++a) count += p.steps[a].region == a;
    if (count < 2) return;
    look_at_regions();
    for (short a = 0; a < p.steps.count; ++a) {
      if (p.steps[a].region != a || !joins(p.steps[a])) continue;
      for (short b = static_cast<short>(a + 1); b < p.steps.count; ++b) {
        if (p.steps[b].region != b || !joins(p.steps[b])) continue;
        if (!(space_of(a) == space_of(b)) || !passes_gain(a, b) || !can_share(a, b)) continue;
        unite(a, b);
        break;  // a is now a part of b
      }
    }
  }

  /// a product on a CPU with one element-wise reader becomes a part of the reader's region: the
  /// kernel computes the product in panels that stay in a cache
  constexpr void take_in_panels(short i) {
    step& me = p.steps[i];
    if (me.kind != step_kind::matmul || is_root[i]) return;
    if (me.type != element::f32 && me.type != element::f64) return;
    if (!me.where.is_single() || !me.where.at(0).is_cpu() || me.extents.rank != 2) return;
    short at = -1;
    level read = level::element;
    if (!find_readers(i, at, read) || read != level::element || regions[at].chained) return;
    if (!(space_of(at) == me.extents && place_of(at) == me.where && has_room(at, at, i))) return;
    for (step const& s : p.steps)
      if (s.region == at && s.kind == step_kind::matmul) return;
    me.region = at, me.stored = false, p.levels[i] = level::element;
  }

  /// means: the step that adds a row to product i and is its only reader; -1: none
  constexpr short adds_row(short i) const {
    short at = -1;
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k])) {
        if (e.from != i) continue;
        if (at >= 0 || e.by >= 0 || p.steps[k].ends != product_end::row) return -1;
        at = k;
      }
    if (at < 0) return -1;
    array_view<edge> const both = p.operands(p.steps[at]);
    edge const& row = both[both[0].from == i ? 1 : 0];
    step const& o = p.steps[row.from];
    bool const in_memory = o.kind != step_kind::scalar && o.kind != step_kind::index &&
                           (row.by >= 0 || o.region != p.steps[at].region);
    return in_memory && o.extents.rank == 1 && o.type == p.steps[i].type ? at : short(-1);
  }
  /// an activation that a library may compute after the row
  constexpr bool ends_product(step const& s) const {
    return s.ends == product_end::chosen ||
           (s.ends == product_end::relu && bits == numerics::relaxed);
  }
  /// a product on GPUs becomes a part of the map that adds a row to it, with at most one activation
  /// after it: a library computes all in one kernel, or writes the product where the map's result
  /// will be
  constexpr void take_with_row(short i) {
    step& me = p.steps[i];
    if (me.kind != step_kind::matmul || is_root[i] || me.extents.rank != 2) return;
    if (me.where.is_partial() || !is_on_gpus(me.where)) return;
    if (complex_elements.contains(me.type)) return;  // cuBLASLt adds rows of real numbers alone
    short const add = adds_row(i);
    if (add < 0) return;
    short const at = p.steps[add].region;
    step const& last = p.steps[at];
    if (at != add && !(last.arity == 1 && p.operands(last)[0].from == add && ends_product(last)))
      return;
    for (short k = 0; k < p.steps.count; ++k)
      if (p.steps[k].region == at && k != add && k != at) return;
    if (at != add && p.steps[add].stored) return;
    if (last.type != me.type || !(last.extents == me.extents) || !(last.where == me.where)) return;
    me.region = at, me.stored = false, p.levels[i] = level::element;
    me.has_row = true;
  }

  /// one kernel for all results of a call; it stores the results that some step reads
  constexpr void open_call(short i) {
    step& me = p.steps[i];
    me.region = static_cast<short>(i - me.result + me.call->rule.results.count - 1);
    me.stored = is_root[i] || me.call->rule.stores_all;
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k]))
        if (e.from == i && !p.steps[k].is_sibling()) me.stored = true;
  }

  /// a transpose, a slice or an at has gaps; a reshape of a value with gaps must copy
  constexpr void find_dense() {
    for (step& s : p.steps) {
      if (s.is_view() && s.kind != step_kind::reshape) s.dense = false;
      if (s.kind == step_kind::expand) s.dense = p.steps[p.operands(s)[0].from].dense;
    }
  }
  constexpr bool looks_only(step const& s) const {
    return s.is_view() && (s.kind != step_kind::reshape || p.steps[p.operands(s)[0].from].dense);
  }

  /// step i leaves its own region and becomes a part of its readers' region
  constexpr void close_into_readers(short i) {
    for (short k = static_cast<short>(i + 1); k < p.steps.count; ++k)
      for (edge const& e : p.operands(p.steps[k]))
        if (e.from == i) p.steps[i].region = p.steps[k].region;
    p.steps[i].stored = is_root[i];
  }

  /// makes step i a part of the one region that reads the step; false: the step cannot join
  constexpr bool joins_readers(short i) {
    short at = -1;
    level at_level = level::element;
    step& me = p.steps[i];
    if (is_root[i] && me.where.is_partial()) return false;  // its bucket may wait for a reader
    if (!find_readers(i, at, at_level) || !has_room(at, at, i, at_level)) return false;
    bool const joined =
        me.kind == step_kind::map ? map_joins(i, at, at_level) : reduce_joins(i, at, at_level);
    if (joined) me.region = at, me.stored = is_root[i];
    return joined;
  }
  constexpr void run() {
    find_dense();
    for (root const& r : p.roots) is_root[r.from] = true;
    for (short i = static_cast<short>(p.steps.count); i-- > 0;) {
      step& me = p.steps[i];
      if (me.is_source() || looks_only(me)) continue;
      if (!joins(me)) {
        me.region = i, me.stored = true;
        if (me.kind == step_kind::call) open_call(i);
        continue;
      }
      if (joins_readers(i)) continue;
      bool const one_region = join_readers(i);
      if (one_region && me.kind == step_kind::reduce && joins_readers(i)) continue;
      open(i);
      if (one_region && me.kind == step_kind::map) close_into_readers(i);
    }
    share_passes();
    for (short i = 0; i < p.steps.count; ++i) {
      take_in_panels(i);
      take_with_row(i);
    }
  }
};

}  // namespace detail

/// means: sets steps[i].region, stored and levels[i]
/// bits: under `reproducible` each fold has its own kernel, under `relaxed` a relu may join a
/// product. guesses: open extents of one pattern are equal, which find_guards must list
constexpr void fuse(plan_view& p, numerics bits = numerics::exact, bool guesses = false) {
  detail::fuser{p, bits, bits == numerics::reproducible, guesses}.run();
}

}  // namespace locus
