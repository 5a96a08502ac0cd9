// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/settle.hpp declares.
#pragma once
#include <locus/backend/user_stream.hpp>   // lead_guest
#include <locus/run/copy_value.hpp>        // copy_value, join_queues
#include <locus/run/settle.hpp>            // the declarations
#include <locus/run/write_directly.hpp>    // is_written
#include <locus/runtime/stream_scope.hpp>  // guest

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: drops the run's own record of this range; runtime::arrivals has it now
LOCUS_FUNCTION void forget_in_flight(run_state& run, logical_device& d, byte_range const& range) {
  for (std::size_t k = run.pending.size(); k-- > 0;) {
    pending_copy const& c = run.pending[k];
    if (c.from == &d && c.to == &d && c.source.first == range.first) run.pending.remove(k);
  }
}

/// means: registers an all-reduce beside the compute queue as a pending result: later plans that do
///        not read it compute meanwhile; false: this value cannot stay pending
LOCUS_FUNCTION bool leaves_beside(run_state& run, int v, int r, logical_device& d) {
  stamp const when = run.ready(v, r);
  if (run.is_step(v) || !when.is_set() || d.beside_user || runtime::guest) return false;
  if (d.is_host() && !runtime::may_be_late) return false;
  if (run.transfer_of(v).how != transfer_kind::all_reduce) return false;
  byte_range const range = run.bytes_of(v, r);
  runtime::leave_arrival({&d, static_cast<char const*>(range.first), range.bytes, when});
  forget_in_flight(run, d, range);
  return true;
}

LOCUS_FUNCTION bool must_set_aside(run_state const& run, int k, int r) {
  int const v = run.value_of(run.plan.roots[k]);
  target const& to = run.targets[k];
  return !to.no_alias && !same_layout(run.value(v, r), to.locals[r], run.rank_of(v)) &&
         is_written(run, run.bytes_of(v, r));
}

LOCUS_FUNCTION void foresee_targets(run_state& run) {
  if (!run.code.may_alias) return;
  for (int k = 0; k < run.plan.roots.count; ++k) {
    int const v = run.value_of(run.plan.roots[k]);
    for (int r = 0; r < run.targets[k].where.local_count(); ++r)
      if (must_set_aside(run, k, r))
        run.memory.will_need(runtime::find_device(run.targets[k].where.at(r)),
                             size_of(run.value(v, r), run.rank_of(v)) * run.bytes_of_element(v));
  }
}

/// means: sets values aside that a destination would overwrite before they are copied: a =
///        transpose(a), or a and b exchanged
[[gnu::cold]] LOCUS_FUNCTION void set_aside(run_state& run) {
  for (int k = 0; k < run.plan.roots.count; ++k) {
    int const v = run.value_of(run.plan.roots[k]), rank = run.rank_of(v);
    int const element_bytes = run.bytes_of_element(v);
    target const& to = run.targets[k];
    for (int r = 0; r < to.where.local_count(); ++r) {
      if (!must_set_aside(run, k, r)) continue;
      logical_device& d = runtime::find_device(to.where.at(r));
      local_value const from = run.value(v, r);
      std::int64_t const bytes = size_of(from, rank) * element_bytes;
      void* const memory = run.memory.take_reserve(d, bytes);
      local_layout layout;
      local_value const aside = dense_value(memory, run.whole_of(v), run.place_of(v), r, layout);
      step_record const record{run.plan.roots[k].from, "set aside", d.name};
      runtime::running_scope const scope(&record);
      copy_value(run, {&d, &aside}, {&d, &from, v, r}, rank, element_bytes, record);
      run.value(v, r) = dense_value(memory, run.whole_of(v), run.place_of(v), r, run.layout(v, r));
    }
  }
}

/// means: copies results that lie elsewhere (a leaf, a view, a replica, memory aside) into their
///        destinations
LOCUS_FUNCTION void write_targets(run_state& run) {
  if (run.code.may_alias) set_aside(run);
  for (int k = 0; k < run.plan.roots.count; ++k) {
    root const& me = run.plan.roots[k];
    target const& to = run.targets[k];
    int const v = run.value_of(me), rank = run.rank_of(v);
    for (int r = 0; r < to.where.local_count(); ++r) {
      logical_device& d = runtime::find_device(to.where.at(r));
      if (same_layout(run.value(v, r), to.locals[r], rank)) {
        if (!leaves_beside(run, v, r, d))
          wait_for(run, v, r, d);  // the value was made in the destination
        continue;
      }
      step_record const record{me.from, "write", d.name};
      runtime::running_scope const scope(&record);
      copy_value(run, {&d, &to.locals[r]}, {&d, &run.value(v, r), v, r}, rank,
                 run.plan.steps[me.from].element_bytes, record);
    }
  }
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_difference(run_state const& run,
                                                              tally const& planned) {
  message text;
  text << "locus: the executor did not do what the plan says (planned/done):";
  auto write = [&](std::string_view what, std::int64_t a, std::int64_t b) {
    text << " " << what << " " << a << "/" << b;
  };
  write("launches", planned.launches, run.done.launches);
  write("copies", planned.copies, run.done.copies + run.done.reused);
  write("bytes moved", planned.bytes_moved, run.done.bytes_moved + run.done.bytes_reused);
  write("all-reduces", planned.all_reduces, run.done.all_reduces);
  write("other reductions", planned.other_reductions, run.done.other_reductions);
  write("bytes reduced", planned.bytes_reduced, run.done.bytes_reduced);
  write("fallbacks", planned.fallbacks, run.done.fallbacks);
  write("halo exchanges", planned.halo_exchanges, run.done.halo_exchanges);
  write("bytes sent", planned.sent, run.done.sent);
  write("bytes received", planned.received, run.done.received);
  throw error(text << "; this is an error in locus");
}

LOCUS_FUNCTION void hold_to_plan(run_state const& run) {
  tally const planned = run.code.extents ? run.code.planned : count_plan(run.plan, run.extents);
  tally all = run.done;
  all.copies += std::exchange(all.reused, 0);
  all.bytes_moved += std::exchange(all.bytes_reused, 0);
  all.sent += run.kept_rows.sent, all.received += run.kept_rows.received;
  if (!(planned == all) && runtime::planted.omit_transfer < 0) refuse_difference(run, planned);
}

LOCUS_FUNCTION void settle(run_state& run) {
  write_targets(run);
  join_queues(run);
  run.kept.leave(true);
  if (runtime::guest) runtime::lead_guest(run.beside, *runtime::guest);
  if constexpr (checked_build) hold_to_plan(run);
  runtime::executed += run.done;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
