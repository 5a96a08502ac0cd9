// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/write_directly.hpp declares.
#pragma once
#include <locus/run/write_directly.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION bool is_written(run_state const& run, byte_range const& range) {
  for (int k = 0; k < run.plan.roots.count; ++k)
    for (int r = 0; r < run.targets[k].where.local_count(); ++r)
      if (run.bytes_of_target(k, r).overlaps(range)) return true;
  return false;
}

/// means: the kernel that makes step v reads `leaf` only at the index that it writes
LOCUS_FUNCTION bool reads_same_index(run_state const& run, int v, short leaf) {
  short const i = run.plan.steps[v].region;
  step const& ends = run.plan.steps[i];
  bool const in_place_call = ends.kind == step_kind::call && ends.call->rule.in_place &&
                             run.extents[leaf] == run.extents[v];
  if (ends.kind != step_kind::map && ends.kind != step_kind::reduce && !in_place_call) return false;
  bool const row =
      run.plan.levels[v] != level::element;  // the kernel reads a whole row before it writes it
  for (short k = 0; k < run.plan.steps.count; ++k) {
    if (run.plan.steps[k].region != i) continue;
    for (edge const& e : run.plan.operands(run.plan.steps[k])) {
      if (memory_of(run.plan, e.from) != leaf) continue;
      if (e.from != leaf || e.by >= 0 || (run.plan.levels[k] == level::row) != row ||
          run.plan.steps[k].kind == step_kind::matmul)
        return false;
    }
  }
  return true;
}

LOCUS_FUNCTION short last_read_of(run_state const& run, short leaf) {
  short last = run.memory_slots[leaf].last_read;
  for (transfer const& t :
       run.plan.transfers)  // the readers of a copy that is skipped read the leaf
    if (memory_of(run.plan, t.from) == leaf && run.memory_slots[run.value_of(t)].last_read > last)
      last = run.memory_slots[run.value_of(t)].last_read;
  return last;
}

/// means: a call reads v; a call takes operands without gaps
LOCUS_FUNCTION bool read_by_call(run_state const& run, int v) {
  for (step const& s : run.plan.steps)
    if (s.kind == step_kind::call)
      for (edge const& e : run.plan.operands(s))
        if (run.value_of(e) == v || (e.by < 0 && memory_of(run.plan, e.from) == v)) return true;
  return false;
}

/// means: the overlap of piece a of a leaf with piece b of the destination of v
LOCUS_FUNCTION overlap overlap_with(run_state const& run, target const& to, int v, int b,
                                    short leaf, int a) {
  return find_overlap({run.value(leaf, a), run.rank_of(leaf), run.bytes_of_element(leaf)},
                      {to.locals[b], to.extents.rank, run.bytes_of_element(v)});
}

LOCUS_FUNCTION bool may_write_beside(run_state const& run, int v, target const& to, short leaf) {
  short const written = run.memory_slots[v].made, read = last_read_of(run, leaf);
  if (read < written) return true;
  for (int a = 0; a < run.plan.steps[leaf].where.local_count(); ++a)
    for (int b = 0; b < run.place_of(v).local_count(); ++b) {
      overlap const found = overlap_with(run, to, v, b, leaf, a);
      if (found == overlap::none) continue;
      bool const in_place = found == overlap::same && to.extents == run.whole_of(v) &&
                            read == written && run.is_step(v) && reads_same_index(run, v, leaf);
      if (!in_place) return false;
    }
  return true;
}

LOCUS_FUNCTION bool may_write_directly(run_state const& run, int v, int k) {
  target const& to = run.targets[k];
  place const& where = run.place_of(v);
  if (!(where.devices == to.where.devices)) return false;
  bool const kernel_writes = to.extents == run.whole_of(v) && run.is_step(v) &&
                             run.plan.steps[v].kind != step_kind::concatenate &&
                             run.plan.steps[v].kind != step_kind::reshape &&
                             run.plan.steps[v].kind != step_kind::call && !read_by_call(run, v);
  for (int r = 0; r < where.local_count() && !kernel_writes; ++r)
    if (!is_dense(to.locals[r], to.extents.rank)) return false;
  if (!run.code.may_alias || to.no_alias || to.fresh) return true;
  for (short i = 0; i < run.plan.steps.count; ++i)
    if (run.plan.steps[i].kind == step_kind::leaf && !may_write_beside(run, v, to, i)) return false;
  return true;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
