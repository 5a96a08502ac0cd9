// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/crossing.hpp declares.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/plan/move.hpp>      // move_values
#include <locus/plan/schedule.hpp>  // schedule
#include <locus/run/crossing.hpp>   // the declarations
#include <locus/run/run.hpp>        // run_plan, crossings
#include <locus/runtime/ranks.hpp>  // this_rank

LOCUS_LEAN_BEGIN

namespace locus::internal {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION crossing::crossing(step const& what, place const& to) : leaf_(what) {
  leaf_.kind = step_kind::leaf, leaf_.why = reason::leaf;
  leaf_.arity = 0, leaf_.first_edge = 0, leaf_.region = -1, leaf_.stored = false;
  result_ = {0, -1, to, to};
  possible_ = move_values(plan_).error == plan_error::none;
  if (possible_) schedule(plan_);
}

LOCUS_FUNCTION void crossing::run(local_value const* from, target const& into, call_site site) {
  program only_this;
  only_this.plan = plan_;
  only_this.crossings = &crossings;
  only_this.may_alias = true;
  only_this.over_ranks = leaf_.where.devices.is_over_ranks() || into.where.devices.is_over_ranks();
  for (device_list const& all : {leaf_.where.devices, into.where.devices})
    if (!runtime::this_rank.has(all)) refuse_other_world();
  int const a = leaf_.where.local_count(), b = into.where.local_count();
  only_this.replicas = a > b ? a : b;
  local_value values[2 * max_devices];
  local_layout layouts[2 * max_devices];
  stamp ready[2 * max_devices];
  slot memory_slots[2];
  void const* objects[1]{};
  for (int r = 0; r < a; ++r) values[r] = from[r];
  run_arrays const arrays{values, layouts, ready, &leaf_.extents, memory_slots, objects};
  static constexpr char moved = 0;
  using runtime::watcher;
  unsigned const log = runtime::log_wants(&moved, site) ? unsigned(watcher::log) : 0,
                 kept = runtime::keeps_copies() ? unsigned(watcher::kept) : 0;
  run_plan(only_this, arrays, &into, {site, log | kept, nullptr});
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::internal

LOCUS_LEAN_END
