// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/events.hpp declares.
#pragma once
#include <locus/backend/device_use.hpp>  // use_of
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/plan/show/explain.hpp>   // write_type
#include <locus/run/events.hpp>          // the declarations
#include <locus/watch/log.hpp>           // log, warn
#include <locus/watch/site_text.hpp>     // write_site

LOCUS_COLD_BEGIN

namespace locus::detail {

/// means: true at the first call with that name
LOCUS_SHARED_STATE inline bool is_first_of_operation(std::string_view name) {
  struct memory {
    mutex lock;
    dynamic_array<std::string_view> names;  // constants of the program
  };
  static memory* const seen = new memory;  // never destroyed: plans run until the end
  lock_guard hold(seen->lock);
  for (std::string_view const& one : seen->names)
    if (one == name) return false;
  seen->names.push(name);
  return true;
}

inline namespace LOCUS_RUN_MODE {

inline plan_run plan_run_of(run_state const& run) {
  return {run.plan, run.extents, run.seen.record->policy, run.done};
}

LOCUS_FUNCTION void begin_plan(event_scope& scope, run_state const& run) {
  text_buffer<256> name;
  name << "plan";
  if (!(run.seen.site == call_site{})) runtime::write_site(name << " at ", run.seen.site);
  plan_run const plan = plan_run_of(run);
  run_event e{.kind = event_kind::plan, .name = name.view(), .plan = &plan};
  scope.begin(run.seen.watchers & runtime::work_watchers, e, runtime::find_device(cpu(0)));
}

LOCUS_FUNCTION void end_plan(run_state const& run) {
  plan_run const plan = plan_run_of(run);
  note_run(*run.seen.record, {.kind = event_kind::plan, .site = run.seen.site, .plan = &plan});
}

/// means: the log gets a step of a launch; a part of an operation whose own step is logged has none
inline void log_step(run_state const& run, short i, run_event const& launch) {
  step const& s = run.plan.steps[i];
  if (s.tensorflow.empty()) return;
  run_event e{.step = i, .name = s.tensorflow, .kernel = launch.kernel, .on = launch.on};
  e.extents = run.extents[i], e.site = run.seen.site;
  message reason;
  if (s.fell_back) {
    reason << "'" << s.name << "' has no " << s.side_without_kernel() << " kernel";
    e.request = s.request, e.reason = reason.view();
  }
  runtime::log(e);
}

LOCUS_FUNCTION void begin_launch(event_scope& scope, run_state const& run, launch const& what,
                                 std::int64_t bytes, std::string_view kernel) {
  step const& last = run.plan.steps[what.step];
  run_event e{.kind = event_kind::launch, .step = what.step, .kernel = kernel, .bytes = bytes};
  e.on = use_of(last.where.at(what.replica));
  text_buffer<160> name;
  message operations;
  for (short i = 0; i < run.plan.steps.count; ++i) {
    step const& s = run.plan.steps[i];
    if (s.region != what.step) continue;
    if (has_watcher(run.seen.watchers, runtime::watcher::log)) log_step(run, i, e);
    if (!s.tensorflow.empty()) name << (name.view().empty() ? "" : "+") << s.tensorflow;
    operations << (operations.view().empty() ? "" : ", ") << s.name;
  }
  if (name.view().empty()) name << last.name;
  if (what.is_part()) name << " (" << what.part << ")";
  text_buffer<128> type;
  write_type(type, last, run.extents[what.step]);
  e.name = name.view(), e.of = operations.view(), e.type = type.view();
  scope.begin(run.seen.watchers & runtime::work_watchers, e, *what.site.on);
}

LOCUS_FUNCTION void begin_collective(event_scope& scope, run_state const& run, transfer_kind how,
                                     int tensors, place const& over, std::string_view algorithm,
                                     std::int64_t bytes, logical_device& at, queue_kind queue) {
  run_event e{.kind = event_kind::collective, .name = name_of(how), .over = use_of(over)};
  e.tensors = tensors, e.bytes = bytes, e.reason = algorithm, e.site = run.seen.site;
  // without bytes the log has the collective, and no work follows
  unsigned const work = bytes > 0 ? runtime::work_watchers : 0;
  scope.begin(run.seen.watchers & (work | runtime::watcher::log), e, at, queue);
}

LOCUS_FUNCTION void log_transfer(run_state const& run, transfer const& t, std::int64_t bytes,
                                 device from, device to, std::string_view skipped) {
  run_event e{.kind = event_kind::copy, .step = t.from, .name = name_of(t.how)};
  e.of = run.plan.steps[t.from].name, e.from = use_of(from), e.on = use_of(to), e.bytes = bytes;
  e.skipped = !skipped.empty(), e.reason = skipped, e.site = run.seen.site;
  runtime::log(e);
}

LOCUS_FUNCTION void say_fallback(run_state const& run, short i) {
  step const& s = run.plan.steps[i];
  call_site const site = run.seen.site;
  message reason;
  reason << "locus: '" << s.name << "' has no " << s.side_without_kernel()
         << " kernel for its element types and runs on " << s.where;
  if (!s.request.is_none()) reason << "; " << s.request << " was asked for";
  if (site.is_set() || site.is_code()) runtime::write_site(reason << " at ", site);
  run_event e{.kind = event_kind::fallback, .step = i, .name = s.name};
  e.on = use_of(s.where.at(0)), e.request = s.request, e.extents = run.extents[i];
  e.reason = reason.view(), e.site = site;
  bool const matters = !s.request.is_none() || runtime::table.count_gpus() > 0;
  runtime::warn(e, matters && is_first_of_operation(s.name));
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION void log_creation(std::string_view type, shape const& extents, place const& where,
                                 call_site site) {
  run_event e{.kind = event_kind::creation, .name = type, .over = use_of(where)};
  e.extents = extents, e.site = site;
  runtime::log(e);
}

LOCUS_FUNCTION void log_tensor_copy(std::string_view type, shape const& extents, std::int64_t bytes,
                                    device on) {
  run_event e{.kind = event_kind::copy, .name = type, .on = use_of(on), .from = use_of(on)};
  e.extents = extents, e.bytes = bytes;
  runtime::log(e);
}

}  // namespace locus::internal

LOCUS_COLD_END
