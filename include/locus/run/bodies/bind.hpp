// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/bind.hpp declares.
#pragma once
#include <locus/backend/user_stream.hpp>  // follow_guest
#include <locus/machine/stamps.hpp>       // meet_arrivals
#include <locus/plan/distribute.hpp>      // check_cut
#include <locus/plan/infer.hpp>           // require_elements
#include <locus/run/bind.hpp>             // the declarations
#include <locus/run/same_bytes.hpp>       // share_bytes

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_cut(run_state const& run, short i) {
  step const& s = run.plan.steps[i];
  message text;
  text << "locus: '" << s.name << "' (step " << int(i) << ") mixes pieces that lie on different "
       << "devices: extents";
  for (edge const& e : run.plan.operands(s)) text << " " << run.extents[e.from];
  throw shape_error(text << " become " << run.extents[i] << " on " << s.where
                         << "; bring the operands to one place with to<...>(x)");
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_extents(run_state const& run, int k) {
  message text;
  throw shape_error(text << "locus: a value with extents " << run.extents[run.plan.roots[k].from]
                         << " is assigned to a tensor with extents " << run.targets[k].extents
                         << "; make the tensor as large, or slice it");
}

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_common(run_state const& run, int k, int other,
                                                          int r) {
  auto const name = [&](int root) { return run.plan.steps[run.plan.roots[root].from].name; };
  message text;
  throw shape_error(text << "locus: assignments " << k << " (" << name(k) << ") and " << other
                         << " (" << name(other) << ") of one plan write the same elements on "
                         << run.targets[k].where.at(r)
                         << "; give each a destination of its own, or run two plans");
}

/// fails: shape_error, if two roots of the plan write the same bytes: their order is open
LOCUS_FUNCTION void require_apart(run_state const& run, int k, int other) {
  int const rank = run.targets[k].extents.rank, other_rank = run.targets[other].extents.rank;
  int const bytes = run.bytes_of_element(run.plan.roots[k].from),
            other_bytes = run.bytes_of_element(run.plan.roots[other].from);
  for (int r = 0; r < run.targets[k].where.local_count(); ++r)
    for (int q = 0; q < run.targets[other].where.local_count(); ++q)
      if (run.targets[k].where.at(r) == run.targets[other].where.at(q) &&
          share_bytes(run.targets[k].locals[r], rank, bytes, run.targets[other].locals[q],
                      other_rank, other_bytes))
        refuse_common(run, k, other, r);
}

LOCUS_FUNCTION void check_extents(run_state const& run) {
  require_elements(run.plan, run.extents);
  bool const in_pieces = run.code.replicas > 1 || run.code.over_ranks;
  for (short i = 0; i < run.plan.steps.count && !run.code.extents && in_pieces; ++i)
    if (check_cut(run.plan, i, run.extents) != plan_error::none) refuse_cut(run, i);
  for (int k = 0; k < run.plan.roots.count; ++k)
    if (!(run.extents[run.plan.roots[k].from] == run.targets[k].extents)) refuse_extents(run, k);
  for (int k = 1; k < run.plan.roots.count; ++k)
    for (int other = 0; other < k; ++other) require_apart(run, other, k);
}

/// means: drops kept copies of the bytes that this run writes
[[gnu::cold]] LOCUS_FUNCTION void forget_written(run_state const& run) {
  for (int k = 0; k < run.plan.roots.count; ++k)
    for (int r = 0; r < run.targets[k].where.local_count(); ++r) {
      byte_range const to = run.bytes_of_target(k, r);
      runtime::forget_copies(to.first, to.bytes);
    }
}

LOCUS_FUNCTION void bind(run_state const& run) {
  check_extents(run);
  if (has_watcher(run.seen.watchers, runtime::watcher::copies) && run.code.crossings)
    run.code.crossings->apply_copy_policy(run);
  if (runtime::copy_cache_in_use()) forget_written(run);
}

LOCUS_FUNCTION void meet_operands(run_state const& run) {
  auto meet = [&](device at, byte_range const& range) {
    if (range.bytes > 0) runtime::meet_arrivals(runtime::find_device(at), range.first, range.bytes);
  };
  for (short i = 0; i < run.plan.steps.count; ++i) {
    step const& s = run.plan.steps[i];
    for (int r = 0; s.kind == step_kind::leaf && r < s.where.local_count(); ++r)
      meet(s.where.at(r), run.bytes_of(i, r));
  }
  for (int k = 0; k < run.plan.roots.count; ++k)
    for (int r = 0; r < run.targets[k].where.local_count(); ++r)
      meet(run.targets[k].where.at(r), run.bytes_of_target(k, r));
}

LOCUS_FUNCTION void order_behind_guest(run_state& run) {
  auto const add = [&](place const& p) {
    for (int r = 0; r < p.local_count(); ++r) run.beside.add(runtime::find_device(p.at(r)));
  };
  for (step const& s : run.plan.steps) add(s.where);
  for (transfer const& t : run.plan.transfers) add(t.arrives);
  for (int k = 0; k < run.plan.roots.count; ++k) add(run.targets[k].where);
  runtime::follow_guest(run.beside, *runtime::guest);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
