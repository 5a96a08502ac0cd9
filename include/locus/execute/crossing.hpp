// SPDX-License-Identifier: Apache-2.0
// The elements of one value into memory elsewhere: a plan of one transfer, made when the program
// runs.
#pragma once
#include <locus/core/config.hpp>     // LOCUS_MODE, LOCUS_LEAN_BEGIN
#include <locus/execute/runner.hpp>  // runner
#include <locus/plan/move.hpp>       // move_values
#include <locus/plan/schedule.hpp>   // schedule

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_MODE {

class crossing {
 public:
  /// what: of the value: element type and size, place, extents
  crossing(step const& what, place const& to) : leaf_(what) {
    leaf_.kind = step_kind::leaf, leaf_.why = reason::leaf;
    leaf_.arity = 0, leaf_.first_edge = 0, leaf_.region = -1, leaf_.stored = false;
    result_ = {0, -1, to, to};
    possible_ = move_values(plan_).error == plan_error::none;
    if (possible_) schedule(plan_);
  }
  crossing(crossing const&) = delete;
  /// false: no row of assign_rows leads there
  bool is_possible() const { return possible_; }
  plan_view const& plan() const { return plan_; }
  shape const* extents() const { return &leaf_.extents; }
  tally counts() const { return count_plan(plan_, &leaf_.extents); }

  /// means: into = from, which has a local value for each replica, at any strides; counted, logged and
  ///        checked as the transfers of other plans
  void run(local_value const* from, target const& into, call_site site = {}) {
    program only_this;
    only_this.plan = plan_;
    only_this.crossings = &runner::crossings;
    only_this.may_alias = true;
    int const a = leaf_.where.count(), b = into.where.count();
    only_this.replicas = a > b ? a : b;
    local_value values[2 * max_devices];
    local_layout layouts[2 * max_devices];
    stamp ready[2 * max_devices];
    slot slots[2];
    void const* objects[1]{};
    for (int r = 0; r < a; ++r) values[r] = from[r];
    run_arrays const arrays{values, layouts, ready, &leaf_.extents, slots, objects};
    static constexpr char moved = 0;
    run_watch seen;
    seen.site = site;
    seen.log = runtime::is_watched(runtime::watcher::log) && runtime::is_wanted(&moved, site);
    seen.keeps = runtime::keeps_copies();
    runner(only_this, arrays, &into, seen).run();
  }

 private:
  step leaf_;
  edge no_edges_{};
  transfer across_;
  root result_{};
  action actions_[2];
  level at_ = level::element;
  plan_view plan_{{&leaf_, 1},   {&no_edges_, 0}, {&across_, 0},
                  {&result_, 1}, {actions_, 0},   {&at_, 1}};
  bool possible_ = false;
};

}  // namespace LOCUS_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
