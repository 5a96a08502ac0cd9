// SPDX-License-Identifier: Apache-2.0
// Copies of values between devices, and the order in which queues access memory:
//   between plans, a device's compute queue orders all accesses to its memory, except to pending
//   results (runtime/pending_results.hpp); inside a plan, copies run on copy queues, after the work
//   that made the value and the work that used the target.
#pragma once
#include <locus/collective/rank_functions.hpp>  // rank_functions
#include <locus/core/macros.hpp>                // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/plan/halo.hpp>                  // each_halo_part
#include <locus/run/run_state.hpp>              // run_state
#include <locus/runtime/ranks.hpp>              // lies_on_ranks

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

// ---- order ----
/// means: the next work of d runs after value v of replica r has arrived
LOCUS_FUNCTION void wait_for(run_state& run, int v, int r, logical_device& d);
/// means: the next work of that queue of d runs after the pending copies and collectives that use
///        bytes of `range` on device `owner`
LOCUS_FUNCTION void wait_for_readers(run_state const& run, logical_device& d, queue_kind queue,
                                     byte_range const& range, logical_device& owner);
/// means: the next work of each compute queue runs after all pending copies from or to its device;
///        the host waits for copies to host memory
LOCUS_FUNCTION void join_queues(run_state& run);

// ---- ranks ----
/// means: the transfer moves bytes between the ranks of a program
inline bool goes_between_ranks(run_state const& run, transfer const& me) {
  place const& from = run.plan.steps[me.from].where;
  if (!run.code.over_ranks || is_reduction(me.how) || me.how == transfer_kind::slice ||
      me.how == transfer_kind::first_replica)
    return false;
  return runtime::lies_on_ranks(from.devices) || runtime::lies_on_ranks(me.arrives.devices);
}

// ---- checks ----
/// fails: bad_access, if p does not lie on the card of d
LOCUS_FUNCTION void check_owner(logical_device const& d, void const* p, step_record const& r);

// ---- copies ----
/// One side of a copy: a local value on a device; number: of the value in the plan, -1 for memory
/// that is no value.
struct copy_side {
  logical_device* on;
  local_value const* at;
  int number = -1, replica = 0;
};
/// means: to = from, on one device
LOCUS_FUNCTION void copy_strided(launch_site const& site, local_value const& to,
                                 local_value const& from, int rank, int element_bytes);
/// means: to = from, on any two devices
[[gnu::cold]] LOCUS_FUNCTION void copy_value(run_state& run, copy_side const& to,
                                             copy_side const& from, int rank, int element_bytes,
                                             step_record const& record);
/// means: counts the memory that copy_value takes: for packed values, and on the way through the
///        host
[[gnu::cold]] LOCUS_FUNCTION void foresee_copy(run_state& run, copy_side const& to,
                                               copy_side const& from, int rank, int element_bytes);

/// means: visit(to, to_name, from, from_name, skip) for each value, or piece, that a transfer
///        moves; skip: the bytes lie there already
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
    bool const skip =
        run.value(v, r).data == run.value(me.from, 0).data && !run.memory_slots[v].is_result;
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
    for (int r = 0; r < to.local_count(); ++r) whole(r);
    return;
  case transfer_kind::scatter:
    for (int r = 0; r < to.local_count(); ++r) {
      local_value const part = piece(run.value(me.from, 0), to, r);
      visit(there(r, &run.value(v, r)), to.at(r), here(0, &part), from.at(0), false);
    }
    return;
  case transfer_kind::gather:
  case transfer_kind::all_gather:
    for (int b = 0; b < to.local_count(); ++b)
      for (int a = 0; a < from.local_count(); ++a) {
        local_value const part = piece(run.value(v, b), from, a);
        visit(there(b, &part), to.at(b), here(a, &run.value(me.from, a)), from.at(a), false);
      }
    return;
  case transfer_kind::halo: {
    std::int64_t const n = run.whole_of(v).extent[from.axis];
    local_layout source_layout;
    // the margin has the number of the transfer: a copy into it waits for nobody by itself
    each_halo_part(n, from, me.outside, me.before, me.behind, [&](halo_part const& p) {
      if (!from.has_piece(p.to) || !from.has_piece(p.from)) return;  // between ranks
      local_value const source =
          part_of(run.value(me.from, p.from), rank, from.axis,
                  p.first - from.piece_begin(n, p.from), p.rows, s.element_bytes, source_layout);
      local_value const margin =
          part_of(run.value(me.from, p.to), rank, from.axis, p.at, p.rows, s.element_bytes, layout);
      visit(copy_side{&runtime::find_device(from.at(p.to)), &margin, v, p.to}, from.at(p.to),
            copy_side{&runtime::find_device(from.at(p.from)), &source}, from.at(p.from), false);
    });
    return;
  }
  default: return;  // a slice is a view; a reduction moves no values
  }
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/copy_value.hpp>  // bodies of the functions above
#endif
