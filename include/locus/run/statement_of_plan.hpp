// SPDX-License-Identifier: Apache-2.0
// A plan of one kernel on one CPU as a local statement: it obtains no memory, moves nothing and
// waits for nothing.
#pragma once
#include <locus/plan/infer.hpp>            // require_elements
#include <locus/run/region.hpp>            // region_code
#include <locus/run/statement_kernel.hpp>  // run_statement
#include <locus/run/values.hpp>            // view_value, is_dense

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

template <class Graph>
struct plan_statement {
  static constexpr plan_view p = unchecked_plan<Graph>.view();
  static constexpr int steps = flattened<Graph>::steps;

  /// means: the plan is one launch on a CPU that makes the only root
  static constexpr bool find_whether() {
    if (p.actions.count != 1 || p.actions[0].kind != action_kind::launch || p.roots.count != 1 ||
        p.transfers.count != 0)
      return false;
    root const& r = p.roots[0];
    step const& last = p.steps[p.actions[0].what];
    bool const kernel = last.kind == step_kind::map || last.kind == step_kind::reduce ||
                        last.kind == step_kind::matmul ||
                        (last.kind == step_kind::call && last.result == 0);
    for (step const& s : p.steps)
      if (s.fell_back) return false;
    return kernel && r.by < 0 && r.from == p.actions[0].what && last.where.is_single() &&
           last.where.at(0).is_cpu() && (r.destination.is_nowhere() || r.destination == last.where);
  }
  static constexpr bool possible = find_whether();
  static constexpr bool may_alias = locus::may_alias(p);
  static constexpr short ends = possible ? p.actions[0].what : 0;

  static constexpr bool find_extremum() {
    for (step const& s : p.steps)
      if (s.kind == step_kind::reduce && s.combines != reduction::sum &&
          s.combines != reduction::product)
        return true;
    return false;
  }
  /// means: step i is a view outside of every region
  static constexpr bool is_placed_view(short i) {
    return p.steps[i].is_view() && p.steps[i].region < 0;
  }
  /// means: step i reads its operands only at the index that the kernel writes
  static constexpr bool reads_at_index(short i) {
    step const& s = p.steps[i];
    for (level at : p.levels)
      if (at == level::fold) return false;
    return p.levels[ends] == level::element && p.levels[i] == level::element && !s.is_view() &&
           s.kind != step_kind::matmul && (s.kind != step_kind::call || s.call->rule.in_place);
  }
  /// the leaves that the kernel reads: first those that it reads only at the index that it writes
  struct read_table {
    short values[p.edges.count + 1]{};
    int bytes[p.edges.count + 1]{};  // of an element: of each leaf, then of the result
    short count = 0, at_index = 0;
    constexpr void add(bool in_place) {
      for (short i = 0; i < p.steps.count; ++i) {
        if (is_placed_view(i)) continue;  // a view itself reads nothing
        for (edge const& e : p.operands(p.steps[i])) {
          short const memory = memory_of(p, e.from);
          bool const placed = e.from == memory || is_placed_view(e.from);
          if (p.steps[memory].kind != step_kind::leaf || (placed && reads_at_index(i)) != in_place)
            continue;
          values[count] = placed ? e.from : memory;
          bytes[count++] = p.steps[e.from].element_bytes;
        }
      }
    }
  };
  static constexpr read_table reads = [] {
    read_table t;
    t.add(true);
    t.at_index = t.count;
    t.add(false);
    t.bytes[t.count] = p.steps[ends].element_bytes;
    return t;
  }();

  static constexpr statement_code code{reads.bytes, reads.count, reads.at_index};

  /// means: calls the kernel, if the statement needs nothing besides; false: it needs the run-time
  ///        loop, and nothing was done
  static bool run(program const& whole, local_value* values, shape const* extents,
                  void const* const* objects, target const& to) {
    local_value const& result = to.locals[0];
    if constexpr (p.steps[ends].kind == step_kind::call)
      if (!is_dense(result, to.extents.rank)) return false;
    local_layout layouts[steps];
    for (short i = 0; i < p.steps.count; ++i)
      if (is_placed_view(i))
        values[i] = view_value(p, i, 0, values[p.operands(p.steps[i])[0].from], extents, objects,
                               layouts[i]);
    statement_value at[reads.count + 1];
    for (int k = 0; k < reads.count; ++k) {
      short const v = reads.values[k];
      at[k] = {values[v].data, &extents[v], values[v].strides, nullptr};
    }
    at[reads.count] = {result.data, &to.extents, result.strides, nullptr};
    return run_statement(code, at, extents[ends], may_alias && !to.fresh && !to.no_alias, [&] {
      if constexpr (find_extremum()) require_elements(p, extents);
      values[ends] = result;
      frame const f{&whole, values, extents, objects};
      constexpr bool open = p.steps[ends].where.is_open();
      device const on = open ? to.where.at(0) : p.steps[ends].where.at(0);
      region_code<Graph, ends>::run({&f, ends, 0, {&runtime::table.slot(on), {}, nullptr, 0}});
    });
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
