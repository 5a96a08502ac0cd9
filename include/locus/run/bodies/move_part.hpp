// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/move_part.hpp declares.
#pragma once
#include <locus/run/events.hpp>     // log_transfer
#include <locus/run/move_part.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void note_copy(run_state& run, transfer const& t, local_value const& v, device from,
                              device to, bool reused, std::string_view why) {
  std::int64_t const bytes = size_of(v, run.rank_of(t.from)) * run.bytes_of_element(t.from);
  ++(reused ? run.done.reused : run.done.copies);
  (reused ? run.done.bytes_reused : run.done.bytes_moved) += bytes;
  if (has_watcher(run.seen.watchers, runtime::watcher::log))
    log_transfer(run, t, bytes, from, to, why);
}

LOCUS_FUNCTION void move_part(run_state& run, transfer const& t, copy_side const& to,
                              device to_name, copy_side const& from, device from_name, bool skip) {
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

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
