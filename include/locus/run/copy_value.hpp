// SPDX-License-Identifier: Apache-2.0
// Values from device to device, and the order in which queues touch memory:
//   between plans, a device's compute queue orders all accesses to its memory;
//   inside a plan, copies run on copy queues, behind what made the value and what used its target.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_RUN_MODE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/run/run_state.hpp>  // run_state

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

// ---- order ----
/// means: the next work of d comes after value v of replica r has arrived
LOCUS_FUNCTION void wait_for(run_state& run, int v, int r, logical_device& d);
/// means: work on d is about to write there: copies that still read it come first
LOCUS_FUNCTION void wait_for_readers(run_state const& run, logical_device& d, queue_kind queue,
                                     byte_range const& range, logical_device& owner);
/// means: every device's compute queue orders what touches its memory, and host memory is complete
LOCUS_FUNCTION void join_queues(run_state& run);

// ---- checks ----
/// every operand lies in the memory of the device that touches it
LOCUS_FUNCTION void check_owner(logical_device const& d, void const* p, step_record const& r);

// ---- copies ----
/// One side of a copy: a local value on a device; number: which value of the plan, -1 if it is none.
struct copy_side {
  logical_device* on;
  local_value const* at;
  int number = -1, replica = 0;
};
/// means: the elements of `from` at `to`, on one device
LOCUS_FUNCTION void copy_strided(launch_site const& site, local_value const& to,
                                 local_value const& from, int rank, int element_bytes);
/// means: the elements of `from` at `to`, wherever both lie
[[gnu::cold]] LOCUS_FUNCTION void copy_value(run_state& run, copy_side const& to,
                                             copy_side const& from, int rank, int element_bytes,
                                             step_record const& record);
/// the memory that copy_value takes to pack
[[gnu::cold]] LOCUS_FUNCTION void foresee_copy(run_state& run, copy_side const& to,
                                               copy_side const& from, int rank, int element_bytes);

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

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/run/bodies/copy_value.hpp>  // bodies of the functions above
#endif
