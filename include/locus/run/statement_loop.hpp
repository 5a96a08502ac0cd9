// SPDX-License-Identifier: Apache-2.0
// The long way of a statement of maps: its plan is made once, and the run-time loop runs it.
#pragma once
#include <locus/core/lock.hpp>             // mutex, lock_guard
#include <locus/core/macros.hpp>           // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/plan/infer.hpp>            // infer_extents
#include <locus/plan/local_statement.hpp>  // write_statement_plan
#include <locus/run/run.hpp>               // run_plan
#include <locus/run/statement.hpp>         // statement_run, statement_code

LOCUS_LEAN_BEGIN
namespace locus {

/// A plan and its arrays: made at its first run through the loop, never destroyed.
struct statement_record {
  program code{};
  internal::plan_record report{};
  root result{};
  action launch{};
  void (*kernels[max_steps])(locus::launch const&){};
};

inline namespace LOCUS_MODE {
namespace lowering {

using namespace locus::detail;

/// means: calls the kernel, with its result at the place that the loop chose
inline void launch_statement(launch const& what) {
  frame const& f = *what.of;
  auto const& r = *static_cast<statement_run const*>(f.objects[what.step]);
  local_value const& to = f.value(what.step, 0);
  r.values[r.code.reads] = {to.data, &f.extents[what.step], to.strides, nullptr};
  r.code.run(r.code, r.context, r.values);
}
inline statement_record* make_statement_record(statement_code const& c) {
  short const steps = c.tree->steps;
  auto const n = static_cast<std::size_t>(steps);
  auto* const made = new statement_record;
  program& p = made->code;
  p.plan = {{new step[n], steps}, {new edge[n], steps - 1}, {nullptr, 0},
            {&made->result, 1},   {&made->launch, 1},       {new level[n], steps}};
  p.memory_slots = {new slot[n], steps};
  write_statement_plan(p.plan, p.memory_slots, *c.tree, c.where);
  auto* const patterns = new shape[n];
  bool is_static = true;
  for (std::size_t i = 0; i < n; ++i) {
    patterns[i] = p.plan.steps.first[i].extents;
    is_static = is_static && patterns[i].is_static();
  }
  p.may_alias = may_alias(p.plan);
  p.planned = count_plan(p.plan, patterns);
  if (is_static)
    p.extents = patterns;
  else
    delete[] patterns;
  made->kernels[n - 1] = launch_statement;
  p.launches = made->kernels;
  made->report.code = &p, made->report.policy = c.policy;
  return made;
}
inline statement_record& statement_record_of(statement_code const& c) {
  static constinit mutex lock;
  if (statement_record* const r = __atomic_load_n(c.record, __ATOMIC_ACQUIRE)) return *r;
  lock_guard hold(lock);
  if (!*c.record) __atomic_store_n(c.record, make_statement_record(c), __ATOMIC_RELEASE);
  return **c.record;
}

/// means: runs the statement in the cases that run_statement leaves out: errors, temporaries, other
///        devices, watchers
/// fails: bad_access for a leaf that has died; shape_error; as run_plan
inline void run_long_way(statement_run const& r) {
  statement_record& record = statement_record_of(r.code);
  plan_view const& plan = record.code.plan;
  local_value values[max_steps];
  shape extents[max_steps];
  void const* objects[max_steps];
  statement_value const* leaf = r.values;
  for (short i = 0; i < plan.steps.count; ++i) {
    step const& s = plan.steps[i];
    if (s.kind != step_kind::leaf) continue;
    if (!leaf->extents) refuse_dead_leaf(row_of(s.type).name, s.extents, s.where, i);
    values[i] = leaf->local(), extents[i] = *leaf->extents, objects[i] = leaf->object;
    ++leaf;
  }
  infer_extents(plan, extents, objects);
  short const last = record.result.from;
  objects[last] = &r;
  target const to = r.to ? *r.to : r.find(r.whom, extents[last]);
  runtime::devices();
  local_layout layouts[max_steps];
  stamp ready[max_steps];
  slot memory_slots[max_steps];
  run_watch seen;
  if (unsigned const watchers = runtime::watched())
    seen = watch_run(watchers, record.report, r.site);
  detail::run_plan(record.code, {values, layouts, ready, extents, memory_slots, objects}, &to,
                   seen);
}
/// means: sets the pointer through which statements of other units call the loop; called where
///        tensors are made
inline void offer_statement_loop() {
  auto& loop = runtime::statement_loops[checked_build];
  if (!__atomic_load_n(&loop, __ATOMIC_RELAXED))
    __atomic_store_n(&loop, &run_long_way, __ATOMIC_RELEASE);
}

}  // namespace lowering
}  // namespace LOCUS_MODE

}  // namespace locus
LOCUS_LEAN_END
