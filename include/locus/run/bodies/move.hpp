// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/move.hpp declares.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/copy_value.hpp>  // copy_value
#include <locus/run/lay_out.hpp>     // find_occurrence, brought_by_other
#include <locus/run/log.hpp>         // log_copy
#include <locus/run/move.hpp>        // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: a copy from device to device is counted, and told to the log; reused: nothing is moved
[[gnu::cold]] LOCUS_FUNCTION void note_copy(run_state& run, transfer const& t, local_value const& v,
                                            device from, device to, bool reused,
                                            std::string_view why) {
  step const& s = run.plan.steps[t.from];
  std::int64_t const bytes = size_of(v, run.rank_of(t.from)) * s.element_bytes;
  ++(reused ? run.done.reused : run.done.copies);
  (reused ? run.done.bytes_reused : run.done.bytes_moved) += bytes;
  if (run.seen.log) log_copy(t.how, s, t.from, bytes, from, to, why, run.seen.site);
}

/// means: one value, or one piece, to another device (or beside itself)
[[gnu::cold]] LOCUS_FUNCTION void move_part(run_state& run, transfer const& t, copy_side const& to,
                                            device to_name, copy_side const& from, device from_name,
                                            bool skip) {
  bool const moves = !(to_name == from_name),
             kept = moves && run.kept.is_there(to.number, to.replica);
  if (moves)
    note_copy(run, t, *from.at, from_name, to_name, kept,
              kept   ? "reused: kept from a copy before"
              : skip ? "both are host memory"
                     : "");
  if (skip || kept) return;
  step_record const record{t.from, "copy", to_name};
  runtime::running_scope const scope(&record);
  copy_value(run, to, from, run.rank_of(t.from), run.bytes_of_element(t.from), record);
}

/// means: another transfer has brought it
[[gnu::cold]] LOCUS_FUNCTION void reuse(run_state& run, transfer const& me, short first) {
  each_part(run, me, [&](copy_side const&, device to, copy_side const& from, device at, bool) {
    if (!(to == at))
      note_copy(run, me, *from.at, at, to, true, "reused: the same tensor was brought before");
  });
  int const v = run.value_of(me), other = run.plan.steps.count + first;
  for (int r = 0; r < me.arrives.count(); ++r) run.ready(v, r) = run.ready(other, r);
}

LOCUS_FUNCTION void move_value(run_state& run, transfer const& me) {
  if (&me - run.plan.transfers.first ==
      runtime::planted.omit_transfer) {  // the mistake: readers get it where it is
    int const v = run.value_of(me);
    for (int r = 0; r < me.arrives.count(); ++r) run.value(v, r) = run.value(me.from, 0);
    return;
  }
  if (is_reduction(me.how)) return run.code.reductions->reduce(run, me);
  if (brought_by_other(run, me)) return reuse(run, me, find_occurrence(run, me)->first);
  each_part(run, me,
            [&](copy_side const& to, device to_name, copy_side const& from, device from_name,
                bool skip) { move_part(run, me, to, to_name, from, from_name, skip); });
  if (me.how == transfer_kind::gather || me.how == transfer_kind::all_gather)
    join_queues(run);  // several copies fill one value: its readers wait for all of them
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
