// SPDX-License-Identifier: Apache-2.0
// Transfers: the values, or pieces, that each of them copies.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/copy_value.hpp>  // copy_side

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

/// means: visit(to, to_name, from, from_name, skip) for each value, or piece, that a transfer moves
template <class Visit>
void each_part(run_state const& run, transfer const& me, Visit const& visit) {
  step const& s = run.plan.steps[me.from];
  place const &from = s.where, &to = me.arrives;
  int const v = run.value_of(me), rank = run.rank_of(v);
  auto there = [&](int r, local_value const* at) {
    return copy_side{&runtime::find_device(to.at(r)), at, v, r};
  };
  auto here = [&](int r, local_value const* at) {
    return copy_side{&runtime::find_device(from.at(r)), at, me.from, r};
  };
  auto whole = [&](int r) {
    bool const skip = run.value(v, r).data == run.value(me.from, 0).data && !run.slots[v].is_result;
    visit(there(r, &run.value(v, r)), to.at(r), here(0, &run.value(me.from, 0)), from.at(0), skip);
  };
  local_layout layout;
  auto piece = [&](local_value const& of, place const& cut, int r) {
    return piece_of(of, rank, cut, r, run.whole_of(v), s.element_bytes, layout);
  };
  switch (me.how) {
  case transfer_kind::first_replica:
    if (!from.devices.contains(to.at(0))) whole(0);
    return;
  case transfer_kind::copy:
  case transfer_kind::broadcast:
    for (int r = 0; r < to.count(); ++r) whole(r);
    return;
  case transfer_kind::scatter:
    for (int r = 0; r < to.count(); ++r) {
      local_value const part = piece(run.value(me.from, 0), to, r);
      visit(there(r, &run.value(v, r)), to.at(r), here(0, &part), from.at(0), false);
    }
    return;
  case transfer_kind::gather:
  case transfer_kind::all_gather:
    for (int b = 0; b < to.count(); ++b)
      for (int a = 0; a < from.count(); ++a) {
        local_value const part = piece(run.value(v, b), from, a);
        visit(there(b, &part), to.at(b), here(a, &run.value(me.from, a)), from.at(a), false);
      }
    return;
  default: return;  // a slice is a view
  }
}

[[gnu::cold]] LOCUS_FUNCTION void move_value(run_state& run, transfer const& me);

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/move.hpp>  // bodies of the functions above
#endif
