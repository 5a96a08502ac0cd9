// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/call_tiles.hpp declares.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/call_tiles.hpp>  // the declarations
#include <locus/run/values.hpp>      // local_extents, is_dense

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION kernel::any_tile call_tile(frame const& f, int value, int replica, bool stored) {
  plan_view const& p = f.of->plan;
  bool const is_step = value < p.steps.count;
  int const from = is_step ? value : p.transfers[value - p.steps.count].from;
  kernel::any_tile t;
  t.rank = f.extents[from].rank;
  if (!stored) {
    local_extents(f.extents[from], p.steps[from].where, replica, t.extent);
    return t;
  }
  local_value const& v = f.value(value, replica);
  if (checked_build && !is_dense(v, t.rank))
    throw error("locus: an operand of a call has gaps; this is an error in locus");
  t.data = v.data;
  for (int a = 0; a < t.rank; ++a) t.extent[a] = v.extents[a];
  return t;
}

/// means: the part of the batch, for an operation that states its cuts itself
inline call_context part_of_own_cut(frame const& f, short first, int replica) {
  plan_view const& p = f.of->plan;
  step const& s = p.steps[first];
  call_context c;
  int k = 0;
  while (k < s.arity && !place_of_operand(p, s, k).is_sharded()) ++k;
  if (k == s.arity) return c;
  place const& at = place_of_operand(p, s, k);
  std::int64_t const n = f.extents[p.operands(s)[k].from].extent[at.axis];
  c.replica = at.devices.before() + replica, c.replicas = at.global_count();
  c.first_row = at.piece_begin(n, replica);
  c.rows = own_cut_of_call(p, s).batch == k ? n : 0;
  return c;
}

LOCUS_FUNCTION call_context call_part(frame const& f, short first, int replica) {
  plan_view const& p = f.of->plan;
  call_context c;
  if (p.steps[first].call->has_own_cut) return part_of_own_cut(f, first, replica);
  int const k = operand_of_rows(p, first);
  if (k < 0) return c;
  shape const& batch = f.extents[p.operands(p.steps[first])[k].from];
  c.rows = batch.rank > 0 ? batch.extent[0] : 0;
  if (!call_is_cut(p, first)) return c;
  place const& over = p.steps[first].where;
  c.replica = over.devices.before() + replica, c.replicas = over.global_count();
  c.first_row = over.piece_begin(c.rows, replica);
  return c;
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
