// SPDX-License-Identifier: Apache-2.0
// A plan of one kernel on one CPU: nothing to obtain, to move or to wait for, so it runs at once.
#pragma once
#include <locus/plan/infer.hpp>  // require_elements
#include <locus/run/region.hpp>  // region_code
#include <locus/run/values.hpp>  // view_value, range_of, same_layout

namespace locus {
inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

/// means: what the run-time loop would do for such a plan, without the loop
template <class Graph>
struct at_once {
  static constexpr auto const& arrays = unchecked_plan<Graph>;
  static constexpr plan_view p = arrays.view();
  static constexpr int steps = flattened<Graph>::steps;

  /// one launch, whose only result is the destination's
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
  static constexpr int ends = possible ? p.actions[0].what : 0;
  static constexpr bool may_alias = locus::may_alias(p);

  static constexpr bool find_extremum() {
    for (step const& s : p.steps)
      if (s.kind == step_kind::reduce && s.combines != reduction::sum) return true;
    return false;
  }
  static constexpr bool has_extremum = find_extremum();

  /// step i reads its operands where it computes the element that is written there
  static constexpr bool reads_at_index(short i) {
    step const& s = p.steps[i];
    for (level at : p.levels)
      if (at == level::fold) return false;
    return p.levels[ends] == level::element && p.levels[i] == level::element && !s.is_view() &&
           s.kind != step_kind::matmul && (s.kind != step_kind::call || s.call->rule.in_place);
  }
  /// means: what is read lies apart from the destination, or is read where it is written: a tensor,
  ///        or the slice of one that is the destination
  static bool lies_apart(local_value const* values, shape const* extents, target const& to) {
    int const rank = to.extents.rank;
    byte_range const written = range_of(to.locals[0], rank, p.steps[ends].element_bytes);
    for (short i = 0; i < p.steps.count; ++i) {
      if (p.steps[i].is_view() && p.steps[i].region < 0) continue;  // reads nothing itself
      for (edge const& e : p.operands(p.steps[i])) {
        step const& from = p.steps[e.from];
        short const memory = memory_of(p, e.from);
        if (p.steps[memory].kind != step_kind::leaf) continue;
        bool const is_placed = e.from == memory || (from.is_view() && from.region < 0);
        short const v = is_placed ? e.from : memory;
        byte_range const read = range_of(values[v], extents[v].rank, from.element_bytes);
        if (!read.overlaps(written)) continue;
        bool const in_place = is_placed && reads_at_index(i) && extents[v] == to.extents &&
                              same_layout(values[v], to.locals[0], rank);
        if (!in_place) return false;
      }
    }
    return true;
  }

  /// means: the kernel, if the run-time loop would add nothing     false: it would; nothing was done
  static bool run(program const& code, local_value* values, shape const* extents,
                  void const* const* objects, target const& to) {
    if (!(to.extents == extents[ends])) return false;
    if constexpr (p.steps[ends].kind == step_kind::call)
      if (!is_dense(to.locals[0], to.extents.rank)) return false;
    if constexpr (has_extremum) require_elements(p, extents);
    local_layout layouts[steps];
    for (short i = 0; i < p.steps.count; ++i)
      if (p.steps[i].is_view() && p.steps[i].region < 0)
        values[i] = view_value(p, i, 0, values[p.operands(p.steps[i])[0].from], extents, objects,
                               layouts[i]);
    if constexpr (may_alias)
      if (!to.fresh && !to.no_alias && !lies_apart(values, extents, to)) return false;
    values[ends] = to.locals[0];
    frame const f{&code, values, extents, objects};
    constexpr bool open = p.steps[ends].where.is_open();
    logical_device& d = runtime::find_device(open ? to.where.at(0) : p.steps[ends].where.at(0));
    region_code<Graph, ends>::run({&f, short(ends), 0, {&d, {}, nullptr, 0}});
    ++runtime::executed.launches;
    return true;
  }
};

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
