// SPDX-License-Identifier: Apache-2.0
// The long way of a statement at home: its plan, written down once, through the run-time loop.
#pragma once
#include <locus/core/lock.hpp>        // mutex, lock_guard
#include <locus/core/macros.hpp>      // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/plan/infer.hpp>       // infer_extents
#include <locus/run/home_kernel.hpp>  // home_run, home_code, place_home_values
#include <locus/run/run.hpp>          // run_plan

LOCUS_LEAN_BEGIN
namespace locus {

/// A plan and its arrays: made at its first run through the loop, never destroyed.
struct home_record {
  program code{};
  detail::plan_record report{};
  root result{};
  action launch{};
  void (*kernels[max_steps])(locus::launch const&){};
};

inline namespace LOCUS_MODE {
namespace lowering {

/// the kernel of the plan, with its result where the loop wants it
inline void launch_home(launch const& what) {
  frame const& f = *what.of;
  auto const& r = *static_cast<home_run const*>(f.objects[what.step]);
  int const n = r.code.leaves;
  home_value values[max_region_values + 1];
  for (int k = 0; k < n; ++k) values[k] = r.values[k];
  local_value const& to = f.value(what.step, 0);
  values[n] = {to.data, &f.extents[what.step], to.strides, nullptr};
  kernel::space over;
  kernel::access operands[max_region_values + 1];
  place_home_values(r.code, values, over, operands);
  r.code.run(r.code, r.context, over, operands);
}
inline home_record* make_home_record(home_code const& c) {
  auto const n = static_cast<std::size_t>(c.steps);
  auto* const made = new home_record;
  program& p = made->code;
  p.plan = {{new step[n], c.steps}, {new edge[n], c.steps - 1}, {nullptr, 0},
            {&made->result, 1},     {&made->launch, 1},         {new level[n], c.steps}};
  p.slots = {new slot[n], c.steps};
  write_home_plan(p.plan, p.slots, *c.tree, c.where);
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
  made->kernels[n - 1] = launch_home;
  p.launches = made->kernels;
  made->report.code = &p, made->report.policy = c.policy;
  return made;
}
inline home_record& home_record_of(home_code const& c) {
  static constinit mutex lock;
  if (home_record* const r = __atomic_load_n(c.record, __ATOMIC_ACQUIRE)) return *r;
  lock_guard hold(lock);
  if (!*c.record) __atomic_store_n(c.record, make_home_record(c), __ATOMIC_RELEASE);
  return **c.record;
}

/// means: what run_home_at_once leaves out: errors, temporaries, other devices, who watches
/// fails: bad_access for a leaf that has died; shape_error; what the run-time loop fails with
inline void run_home(home_run const& r) {
  home_record& record = home_record_of(r.code);
  plan_view const& plan = record.code.plan;
  local_value values[max_steps];
  shape extents[max_steps];
  void const* objects[max_steps];
  home_value const* leaf = r.values;
  for (short i = 0; i < plan.steps.count; ++i) {
    step const& s = plan.steps[i];
    if (s.kind != step_kind::leaf) continue;
    if (!leaf->extents) refuse_dead_leaf(row_of(s.type).name, s.extents, s.where, i);
    values[i] = {leaf->data, leaf->extents->extent, leaf->strides};
    extents[i] = *leaf->extents, objects[i] = leaf->object;
    ++leaf;
  }
  infer_extents(plan, extents, objects);
  short const last = record.result.from;
  objects[last] = &r;
  target const to = r.to ? *r.to : r.find(r.whom, extents[last]);
  runtime::devices();
  local_layout layouts[max_steps];
  stamp ready[max_steps];
  slot slots[max_steps];
  run_watch seen;
  if (unsigned const watchers = runtime::watched())
    seen = watch_run(watchers, record.report, r.site);
  detail::run_plan(record.code, {values, layouts, ready, extents, slots, objects}, &to, seen);
}
/// means: statements of other units find the loop here: called where tensors are made
inline void offer_home_loop() {
  auto& loop = runtime::home_loops[checked_build];
  if (!__atomic_load_n(&loop, __ATOMIC_RELAXED))
    __atomic_store_n(&loop, &run_home, __ATOMIC_RELEASE);
}

}  // namespace lowering
}  // namespace LOCUS_MODE
}  // namespace locus
LOCUS_LEAN_END
