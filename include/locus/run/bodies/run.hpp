// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/run.hpp declares.
#pragma once
#include <exception>  // uncaught_exceptions

#include <locus/collective/rank_functions.hpp>  // rank_functions
#include <locus/machine/stamps.hpp>             // mark
#include <locus/run/bind.hpp>                   // bind, meet_operands, order_behind_guest
#include <locus/run/events.hpp>                 // begin_plan, end_plan
#include <locus/run/issue.hpp>                  // issue
#include <locus/run/run.hpp>                    // the declarations
#include <locus/run/run_state.hpp>              // run_state
#include <locus/run/settle.hpp>                 // settle

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: waits for all queues of the plan's devices, so that no work uses memory of this run
[[gnu::cold]] LOCUS_FUNCTION void drain(run_state const& run) noexcept {
  auto wait_for_all = [](place const& p) {
    for (int r = 0; r < p.local_count(); ++r)
      for (queue_kind const queue : runtime::queue_kinds) try {
          logical_device& d = runtime::find_device(p.at(r));
          runtime::synchronize(runtime::mark(d, queue));
        } catch (std::exception const&) {}  // the first error is thrown already
  };
  for (step const& s : run.plan.steps) wait_for_all(s.where);
  for (transfer const& t : run.plan.transfers) wait_for_all(t.arrives);
  for (pending_copy const& c : run.pending) try {
      if (runtime::is_of_ranks(c.when)) runtime::synchronize(c.when);
    } catch (std::exception const&) {}
}

/// A scope around work of queues: an exception leaves it after the queues have finished.
struct drained {
  run_state const& run;
  int before = std::uncaught_exceptions();
  ~drained() {
    if (std::uncaught_exceptions() > before) drain(run);
  }
};

/// While it lives, collectives between ranks belong to this run.
struct named_by_run {
  bool const reaches_ranks;
  explicit named_by_run(run_state const& run)
      : reaches_ranks(run.code.over_ranks && runtime::over_ranks) {
    if (reaches_ranks) runtime::over_ranks->begin(run);
  }
  named_by_run(named_by_run const&) = delete;
  ~named_by_run() {
    if (reaches_ranks) runtime::over_ranks->end();
  }
};

LOCUS_FUNCTION void run(run_state& run) {
  event_scope whole;
  unsigned const watchers = run.seen.watchers;
  if (watchers & runtime::work_watchers) begin_plan(whole, run);
  bind(run);
  named_by_run const named(run);
  lay_out(run);
  if (runtime::has_arrivals()) meet_operands(run);
  foresee(run);
  if (runtime::guest) order_behind_guest(run);
  drained const scope{run};
  issue(run);
  settle(run);
  if (watchers & (runtime::watcher::report | runtime::watcher::plans)) end_plan(run);
}

LOCUS_FUNCTION void run_plan(program const& code, run_arrays const& arrays, target const* targets,
                             run_watch const& seen) {
  run_state state(code, arrays, targets, seen);
  run(state);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
