// SPDX-License-Identifier: Apache-2.0
// The state of one run of a plan: the plan, the places of its values, and the work so far. The
// functions of the run-time loop share it (run/run.hpp).
#pragma once
#include <locus/backend/devices.hpp>              // find_device
#include <locus/backend/user_stream.hpp>          // gpu_set
#include <locus/core/array.hpp>                   // dynamic_array
#include <locus/core/macros.hpp>                  // LOCUS_LEAN_BEGIN
#include <locus/plan/memory.hpp>                  // slot
#include <locus/run/kept_uses.hpp>                // kept_uses
#include <locus/run/occurrences.hpp>              // occurrence
#include <locus/run/program.hpp>                  // program, run_arrays, target
#include <locus/run/run_memory.hpp>               // run_memory
#include <locus/run/run_watch.hpp>                // run_watch
#include <locus/run/values.hpp>                   // byte_range, range_of
#include <locus/runtime/collective_settings.hpp>  // collective_choices
#include <locus/runtime/halo_turn.hpp>            // halo_turn

LOCUS_LEAN_BEGIN

namespace locus::detail {

/// A copy or collective beside the compute queues, and the bytes that it still uses.
struct pending_copy {
  logical_device *from = nullptr, *to = nullptr;
  byte_range source{};
  stamp when{};
};

/// The state of one run.
struct run_state {
  run_state(program const& p, run_arrays const& a, target const* to, run_watch const& watch)
      : code(p), plan(p.plan), arrays(a), targets(to), extents(a.extents), seen(watch) {}
  run_state(run_state const&) = delete;

  // ---- the plan and the settings of the run ----
  program const& code;
  plan_view const plan;
  run_arrays const& arrays;
  target const* const targets;  // [root]
  shape const* const extents;   // [step]: of whole values
  run_watch const& seen;
  runtime::collective_choices const chosen = runtime::chosen_for_collectives();
  bool const tf32 = runtime::matmul_is_tf32();

  // ---- the places of its values ----
  run_memory memory;
  array_view<slot> memory_slots{};   // [value]
  dynamic_array<occurrence> shared;  // transfers that share a copy
  kept_uses kept;

  // ---- the work so far ----
  dynamic_array<pending_copy> pending;
  runtime::gpu_set beside;  // devices that are ordered behind a stream of the user
  runtime::halo_turn exchange;
  tally done{};
  tally kept_rows{};  // rows between ranks that the margins had

  // ---- values are numbered: first the steps, then the transfers ----
  bool is_step(int v) const { return v < plan.steps.count; }
  transfer const& transfer_of(int v) const { return plan.transfers[v - plan.steps.count]; }
  int value_of(transfer const& t) const {
    return plan.steps.count + static_cast<int>(&t - plan.transfers.first);
  }
  int value_of(edge const& e) const { return e.by >= 0 ? plan.steps.count + e.by : e.from; }
  int value_of(root const& r) const { return r.by >= 0 ? plan.steps.count + r.by : r.from; }
  short step_of(int v) const { return is_step(v) ? static_cast<short>(v) : transfer_of(v).from; }
  int bytes_of_element(int v) const { return plan.steps[step_of(v)].element_bytes; }
  shape const& whole_of(int v) const { return extents[step_of(v)]; }
  int rank_of(int v) const { return whole_of(v).rank; }
  place const& place_of(int v) const {
    return is_step(v) ? plan.steps[v].where : transfer_of(v).arrives;
  }

  /// the number, name and device of step i, for messages
  step_record record_of(short i, device on) const { return {i, plan.steps[i].name, on}; }
  frame as_frame() const { return {&code, arrays.values, extents, arrays.objects}; }

  // ---- a value on replica r ----
  int index(int v, int r) const { return v * code.replicas + r; }
  local_value& value(int v, int r) const { return arrays.values[index(v, r)]; }
  local_layout& layout(int v, int r) const { return arrays.layouts[index(v, r)]; }
  stamp& ready(int v, int r) const { return arrays.ready[index(v, r)]; }
  byte_range bytes_of(int v, int r) const {
    return range_of(value(v, r), rank_of(v), bytes_of_element(v));
  }
  /// the bytes of root k's destination
  byte_range bytes_of_target(int k, int r) const {
    return range_of(targets[k].locals[r], targets[k].extents.rank,
                    bytes_of_element(plan.roots[k].from));
  }
};

}  // namespace locus::detail

LOCUS_LEAN_END
