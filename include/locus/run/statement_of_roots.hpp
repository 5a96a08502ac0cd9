// SPDX-License-Identifier: Apache-2.0
// A plan of several results that one kernel makes on one CPU, as a local statement: it obtains no
// memory, moves nothing and waits for nothing.
#pragma once
#include <locus/plan/infer.hpp>             // require_elements
#include <locus/run/region.hpp>             // region_code
#include <locus/run/statement_kernel.hpp>   // host_is_alone
#include <locus/run/statement_of_plan.hpp>  // plan_statement
#include <locus/run/values.hpp>             // find_overlap, range_of

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

template <class Graph>
struct roots_statement {
  using one = plan_statement<Graph>;
  static constexpr plan_view p = unchecked_plan<Graph>.view();
  static constexpr int steps = flattened<Graph>::steps, roots = int(p.roots.count);
  static constexpr short ends = p.actions.count > 0 ? p.actions[0].what : short(0);

  /// means: the plan is one launch on a CPU that makes all roots, a map or folds
  static constexpr bool find_whether() {
    if constexpr (roots < 2 || roots > 4)
      return false;
    else
      return is_one_kernel();
  }
  // one value, and no return in between: nvcc warns of loops behind a return that a graph always takes
  static constexpr bool is_one_kernel() {
    step const& last = p.steps[ends];
    bool is_one = p.actions.count == 1 && p.actions[0].kind == action_kind::launch &&
                  p.transfers.count == 0 &&
                  (last.kind == step_kind::map || last.kind == step_kind::reduce);
    for (step const& s : p.steps) is_one = is_one && !s.fell_back && !s.where.is_open();
    for (root const& r : p.roots) {
      step const& made = p.steps[r.from];
      is_one = is_one && r.by < 0 && made.region == ends && !made.is_view() &&
               made.where.is_single() && made.where.at(0).is_cpu() &&
               (r.destination.is_nowhere() || r.destination == made.where);
      for (root const& other : p.roots) is_one = is_one && (&other == &r || other.from != r.from);
    }
    return is_one;
  }
  static constexpr bool possible = find_whether();
  static constexpr bool may_alias = locus::may_alias(p);

  /// means: the value that an edge to a kernel reads: a placed view, or the leaf behind it
  static constexpr short read_by(edge const& e) {
    return one::is_placed_view(e.from) ? e.from : memory_of(p, e.from);
  }
  /// means: the kernel reads that value only at the index at which it writes root k
  static constexpr bool reads_at_index(short value, int k) {
    bool const row = p.levels[p.roots[k].from] != level::element;
    for (short i = 0; i < p.steps.count; ++i) {
      if (one::is_placed_view(i)) continue;
      for (edge const& e : p.operands(p.steps[i])) {
        if (read_by(e) != value) continue;
        if (p.steps[i].region != ends || e.from != value || e.by >= 0 ||
            (p.levels[i] == level::row) != row)
          return false;
      }
    }
    return true;
  }
  /// a leaf, or a view of one, that the kernel reads; in_place: bit k: root k may be that leaf
  struct read {
    short value = 0;
    int bytes = 0;
    unsigned in_place = 0;
  };
  struct read_table {
    read of[p.edges.count + 1]{};
    int count = 0;
  };
  static constexpr read_table reads = [] {
    read_table t;
    for (short i = 0; i < p.steps.count && possible; ++i) {
      if (one::is_placed_view(i)) continue;  // a view itself reads nothing
      for (edge const& e : p.operands(p.steps[i])) {
        if (p.steps[memory_of(p, e.from)].kind != step_kind::leaf) continue;
        read r{read_by(e), p.steps[e.from].element_bytes, 0};
        for (int k = 0; k < roots; ++k) r.in_place |= unsigned(reads_at_index(r.value, k)) << k;
        bool known = false;
        for (int j = 0; j < t.count; ++j) known = known || t.of[j].value == r.value;
        if (!known) t.of[t.count++] = r;
      }
    }
    return t;
  }();

  /// means: no result lies where another one lies, nor where the kernel still reads
  static bool lie_apart(local_value const* values, shape const* extents, target const* to) {
    memory_value at[roots];
    byte_range range[roots];
    for (int k = 0; k < roots; ++k) {
      at[k] = {to[k].locals[0], to[k].extents.rank, p.steps[p.roots[k].from].element_bytes};
      range[k] = range_of(at[k].at, at[k].rank, at[k].element_bytes);
      for (int j = 0; j < k; ++j)
        if (range[j].overlaps(range[k])) return false;
    }
    for (int i = 0; i < reads.count && may_alias; ++i) {
      read const& r = reads.of[i];
      memory_value const from{values[r.value], extents[r.value].rank, r.bytes};
      byte_range const read_at = range_of(from.at, from.rank, from.element_bytes);
      for (int k = 0; k < roots; ++k) {
        if (to[k].fresh || to[k].no_alias || !read_at.overlaps(range[k])) continue;
        if ((r.in_place >> k & 1) == 0 || find_overlap(from, at[k]) != overlap::same) return false;
      }
    }
    return true;
  }

  /// means: calls the kernel, if the statement needs nothing besides; false: it needs the run-time
  ///        loop, and nothing was done
  static bool run(program const& whole, local_value* values, shape const* extents,
                  void const* const* objects, target const* to) {
    if (!host_is_alone()) return false;
    for (int k = 0; k < roots; ++k)
      if (!(to[k].extents == extents[p.roots[k].from])) return false;
    local_layout layouts[steps];
    for (short i = 0; i < p.steps.count; ++i)
      if (one::is_placed_view(i))
        values[i] = view_value(p, i, 0, values[p.operands(p.steps[i])[0].from], extents, objects,
                               layouts[i]);
    if (!lie_apart(values, extents, to)) return false;
    if constexpr (one::find_extremum()) require_elements(p, extents);
    for (int k = 0; k < roots; ++k) values[p.roots[k].from] = to[k].locals[0];
    frame const f{&whole, values, extents, objects};
    device const on = p.steps[ends].where.at(0);
    region_code<Graph, ends>::run({&f, ends, 0, {&runtime::table.slot(on), {}, nullptr, 0}});
    ++runtime::executed.launches;
    return true;
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
