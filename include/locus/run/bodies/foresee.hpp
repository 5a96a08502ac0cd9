// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/foresee.hpp declares.
#pragma once
#include <locus/run/copy_value.hpp>  // foresee_copy, each_part
#include <locus/run/foresee.hpp>     // the declarations
#include <locus/run/lay_out.hpp>     // brought_by_other
#include <locus/run/settle.hpp>      // foresee_targets

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void foresee_transfers(run_state& run) {
  for (transfer const& t : run.plan.transfers) {
    if (is_reduction(t.how)) run.code.reductions->foresee(run, t);
    if (goes_between_ranks(run, t)) {
      runtime::over_ranks->foresee(run, t);
      continue;
    }
    if (brought_by_other(run, t)) continue;
    each_part(run, t, [&](copy_side const& to, device, copy_side const& from, device, bool skip) {
      if (!skip)
        foresee_copy(run, to, from, run.extents[t.from].rank, run.plan.steps[t.from].element_bytes);
    });
  }
}

LOCUS_FUNCTION bool may_take_workspace(run_state const& run, short region) {
  step const& s = run.plan.steps[region];
  if (s.kind == step_kind::matmul || s.takes_workspace) return true;
  for (short k = 0; k <= region; ++k)
    if (run.plan.steps[k].region == region &&
        (run.plan.levels[k] == level::fold || run.plan.steps[k].kind == step_kind::matmul))
      return true;
  return false;
}

[[gnu::cold]] LOCUS_FUNCTION void foresee_workspaces(run_state& run) {
  for (action const& act : run.plan.actions) {
    if (act.kind != action_kind::launch || !may_take_workspace(run, act.what)) continue;
    place const& where = run.plan.steps[act.what].where;
    for (int r = 0; r < where.local_count(); ++r) {
      logical_device& d = runtime::find_device(where.at(r));
      if (!d.is_card()) continue;
      frame const f = run.as_frame();
      run.code.launches[act.what]({&f,
                                   act.what,
                                   r,
                                   {&d, run.record_of(act.what, d.name), nullptr, 0,
                                    &run.memory.measured_workspace(d), run.tf32}});
    }
  }
  run.memory.obtain_workspaces();
}

LOCUS_FUNCTION void foresee(run_state& run) {
  if (run.code.crossings) run.code.crossings->foresee(run);
  foresee_targets(run);
  run.memory.obtain_reserves();
  if (runtime::table.has_cards()) foresee_workspaces(run);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
