// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/exchange.hpp declares.
#pragma once
#include <locus/expr/block.hpp>              // tensor_block
#include <locus/run/copy_value.hpp>          // each_part
#include <locus/run/exchange.hpp>            // the declarations
#include <locus/run/move_part.hpp>           // move_part, note_copy
#include <locus/run/write_directly.hpp>      // is_written
#include <locus/runtime/halo_reuse.hpp>      // halos_are_reused
#include <locus/runtime/queue_failures.hpp>  // queue_failures

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void wait_for_halos(run_state const& run, logical_device& d) {
  for (pending_copy const& c : run.pending) {
    if (c.to != &d) continue;
    if (d.is_host())
      runtime::synchronize(c.when);
    else
      runtime::wait(d, queue_kind::compute, c.when);
  }
}

/// means: the margins stay valid after this run: no destination lies in the tensor, and the program
///        has no pointer through which it may write
[[gnu::cold]] LOCUS_FUNCTION bool may_keep_margins(run_state const& run, short leaf,
                                                   tensor_block const& block) {
  bool written = __atomic_load_n(&block.exposed, __ATOMIC_RELAXED) || !runtime::halos_are_reused();
  for (int r = 0; r < block.where.local_count() && !written; ++r)
    written = is_written(run, run.bytes_of(leaf, r));
  return !written;
}
/// means: an earlier exchange of this run filled the margins of that tensor as far
[[gnu::cold]] LOCUS_FUNCTION bool was_exchanged(run_state const& run, transfer const& me) {
  for (transfer const* t = run.plan.transfers.first; t != &me; ++t)
    if (t->how == transfer_kind::halo && t->before >= me.before && t->behind >= me.behind &&
        run.arrays.objects[t->from] == run.arrays.objects[me.from])
      return true;
  return false;
}

LOCUS_FUNCTION void exchange_halo(run_state& run, transfer const& me) {
  run.exchange.begin();
  auto const& block = *static_cast<tensor_block const*>(run.arrays.objects[me.from]);
  std::uint64_t const failures = runtime::queue_failures(),
                      margins = __atomic_load_n(&block.margins, __ATOMIC_ACQUIRE);
  int const valid = margins >> 16 == failures ? static_cast<int>(margins & 65535) : 0;
  bool const between = goes_between_ranks(run, me);
  bool is_valid =
      (valid & 255) >= me.before && valid >> 8 >= me.behind && runtime::halos_are_reused();
  bool reused = is_valid || was_exchanged(run, me);
  if (between) is_valid = reused = runtime::over_ranks->exchange(run, me, reused);
  if (between && reused)
    count_transfer(run.kept_rows, run.plan.steps[me.from].where, me, run.extents[me.from],
                   run.bytes_of_element(me.from));
  ++run.done.halo_exchanges;
  each_part(
      run, me,
      [&](copy_side const& to, device to_name, copy_side const& from, device from_name, bool) {
        if (!reused)
          move_part(run, me, to, to_name, from, from_name, false);
        else if (!(to_name == from_name))
          note_copy(run, me, *from.at, from_name, to_name, true,
                    "reused: the tensor was not written since");
      });
  if (is_valid) return run.exchange.end();
  if (is_in_parts(run.plan)) return run.exchange.last();  // launches wait for the rows
  for (int r = 0; r < me.arrives.local_count(); ++r)
    wait_for_halos(run, runtime::find_device(me.arrives.at(r)));
  if (reused || !may_keep_margins(run, me.from, block)) return run.exchange.last();
  int const before = (valid & 255) < me.before ? me.before : valid & 255,
            behind = valid >> 8 < me.behind ? me.behind : valid >> 8;
  auto const rows = static_cast<std::uint64_t>(before) + 256 * static_cast<std::uint64_t>(behind);
  __atomic_store_n(&block.margins, rows + 65536 * failures, __ATOMIC_RELEASE);
  run.exchange.end();
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
