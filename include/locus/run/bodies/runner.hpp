// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that run/runner.hpp declares.
#pragma once
#include <locus/backend/user_stream.hpp>  // follow_guest
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/run/implicit_copies.hpp>  // apply_copy_policy
#include <locus/run/log.hpp>              // log_copy
#include <locus/run/runner.hpp>           // the declarations

LOCUS_LEAN_BEGIN

namespace locus::detail {
inline namespace LOCUS_RUN_MODE {

LOCUS_FUNCTION void runner::run() {
  work_scope whole;
  if (seen_.work) begin_run(whole, seen_.work, seen_.site, plan_, seen_.policy);
  check_extents();
  if (seen_.copies != copy_policy::silent && p_.crossings) p_.crossings->apply_policy(this);
  if (runtime::copy_cache_in_use()) forget_written();
  obtain_memory();
  place_values(this);
  if (runtime::has_arrivals()) meet_operands();
  foresee_memory();
  if (runtime::guest) order_behind_guest();
  drained const scope(*this);
  for (action const& act : plan_.actions) {
    if (act.kind == action_kind::launch)
      launch_region(act.what);
    else if (act.kind == action_kind::transfer)
      p_.crossings->move(this, plan_.transfers[act.what]);
    else
      p_.reductions->reduce_bucket(this, act.what);
  }
  write_targets();
  settle();
  kept_.leave(true);
  if (runtime::guest) runtime::lead_guest(beside_, *runtime::guest);
  if constexpr (checked_build) hold_to_plan();
  runtime::executed += done_;
  if (seen_.record) note_run(*seen_.record, seen_.site, done_, plan_, extents_);
}

LOCUS_FUNCTION void runner::order_behind_guest() {
  auto const add = [&](place const& p) {
    for (int r = 0; r < p.count(); ++r) beside_.add(runtime::find_device(p.at(r)));
  };
  for (step const& s : plan_.steps) add(s.where);
  for (transfer const& t : plan_.transfers) add(t.arrives);
  for (int k = 0; k < plan_.roots.count; ++k) add(targets_[k].where);
  runtime::follow_guest(beside_, *runtime::guest);
}

LOCUS_FUNCTION void runner::meet_operands() {
  auto meet = [&](device at, byte_range const& range) {
    if (range.bytes > 0) runtime::meet_arrivals(runtime::find_device(at), range.first, range.bytes);
  };
  for (short i = 0; i < plan_.steps.count; ++i) {
    step const& s = plan_.steps[i];
    for (int r = 0; s.kind == step_kind::leaf && r < s.where.count(); ++r)
      meet(s.where.at(r), bytes_of(i, r));
  }
  for (int k = 0; k < plan_.roots.count; ++k)
    for (int r = 0; r < targets_[k].where.count(); ++r)
      meet(targets_[k].where.at(r), range_of(targets_[k].locals[r], targets_[k].extents.rank,
                                             plan_.steps[plan_.roots[k].from].element_bytes));
}

LOCUS_FUNCTION void runner::launch_region(short i) {
  step const& ends = plan_.steps[i];
  ++done_.launches;
  for (short k = 0; k <= i; ++k)
    if (plan_.steps[k].region == i && plan_.steps[k].fell_back) {
      ++done_.fallbacks;
      say_fallback(plan_.steps[k], k, extents_[k], seen_.site);
    }
  bool const look = runtime::devices().has_gpus();
  for (int r = 0; r < ends.where.count(); ++r) {
    logical_device& d = runtime::find_device(ends.where.at(r));
    step_record const record = record_of(i, d.name);
    runtime::running_scope const scope(&record);
    touched operands[max_operands];
    int count = 0;
    if (look) count = gather_operands(i, r, d, record, operands);
    frame const f{&p_, a_.values, extents_, a_.objects};
    launch const what{&f, i, r, {&d, record, operands, count, find_workspace(d), tf32_}};
    work_scope scope_of_work;
    if (seen_.log || seen_.work) tell(what, scope_of_work);
    issue(what);
  }
}

LOCUS_FUNCTION void runner::issue(launch const& what) {
  step_kind const kind = plan_.steps[what.step].kind;
  if (kind == step_kind::concatenate || kind == step_kind::reshape)
    copy_operands(what);
  else
    p_.launches[what.step](what);
}

LOCUS_FUNCTION void runner::tell(launch const& what, work_scope& work) {
  logical_device& d = *what.site.on;
  device const asked = plan_.steps[what.step].where.at(what.replica);
  message kernel;
  if (d.is_card()) write_kernels(kernel, what);
  for (short k = 0; seen_.log && k < plan_.steps.count; ++k)
    if (plan_.steps[k].region == what.step)
      log_step(plan_.steps[k], k, extents_[k], asked, kernel.view(), seen_.site);
  if (seen_.work)
    begin_launch(work, seen_.work, plan_, extents_, what.step, asked, d,
                 bytes_of_region(what.step, what.replica), kernel.view());
}

LOCUS_FUNCTION void runner::write_kernels(message& out, launch const& what) {
  kernel_list kernels;
  kernel_workspace measured{.on = what.site.on, .kernels = &kernels};
  launch dry = what;
  dry.site.workspace = &measured;
  issue(dry);
  out << kernels;
}

LOCUS_FUNCTION std::int64_t runner::bytes_of_region(short i, int r) const {
  std::int64_t bytes = 0;
  each_value(
      i,
      [&](step const& s, edge const& e) {
        if (!read_before(plan_, s, e)) bytes += bytes_of(value_of(e), r).bytes;
      },
      [&](short k) { bytes += bytes_of(k, r).bytes; });
  return bytes;
}

LOCUS_FUNCTION int runner::gather_operands(short i, int r, logical_device& d,
                                           step_record const& record, touched* operands) {
  int count = 0;
  auto add = [&](int v, bool writes) {
    byte_range const range = bytes_of(v, r);
    if (range.bytes == 0) return;
    if constexpr (checked_build) check_owner(d, range.first, record);
    if (writes)
      wait_for_readers(d, queue_kind::compute, range, d);
    else
      wait_for(v, r, d);
    if (d.is_host()) runtime::check_host_access(range.first, range.bytes, writes, record);
    if (count < max_operands)
      operands[count++] = {range.first, static_cast<std::size_t>(range.bytes), writes};
  };
  each_value(
      i,
      [&](step const&, edge const& e) {
        add(value_of(e), false);
        if (e.by < 0) wait_for(memory_of(plan_, e.from), r, d);
      },
      [&](short k) { add(k, true); });
  return count;
}

LOCUS_FUNCTION void runner::copy_operands(launch const& what) {
  step const& s = plan_.steps[what.step];
  std::int64_t begin = 0;
  for (edge const& e : plan_.operands(s)) {
    int const rank = extents_[e.from].rank;
    local_layout from_layout, to_layout;
    local_value from = value(value_of(e), what.replica), to = value(what.step, what.replica);
    if (s.kind == step_kind::concatenate) {
      bool const whole_beside_pieces = s.where.is_sharded() && place_of(value_of(e)).is_mirrored();
      if (whole_beside_pieces)
        from = piece_of(from, rank, s.where, what.replica, extents_[e.from], s.element_bytes,
                        from_layout);
      to = part_of(to, rank, s.axis, begin, from.extents[s.axis], s.element_bytes, to_layout);
      begin += from.extents[s.axis];
    } else {
      to = dense_value(to.data, extents_[e.from], place_of(value_of(e)), what.replica, to_layout);
    }
    copy_strided(what.site, to, from, rank, s.element_bytes);
  }
}

LOCUS_FUNCTION void runner::foresee_memory() {
  if (p_.crossings) p_.crossings->foresee(this);
  foresee_targets();
  obtain_reserves();
  if (runtime::table.has_cards()) foresee_workspaces();
}

LOCUS_FUNCTION void runner::foresee_transfers() {
  for (transfer const& t : plan_.transfers) {
    if (is_reduction(t.how)) p_.reductions->foresee(this, t);
    if (brought_by_other(t)) continue;
    each_part(t, [&](side const& to, device, side const& from, device, bool skip) {
      if (!skip) foresee_carry(to, from, extents_[t.from].rank, plan_.steps[t.from].element_bytes);
    });
  }
}

LOCUS_FUNCTION void runner::foresee_workspaces() {
  for (action const& act : plan_.actions) {
    if (act.kind != action_kind::launch || !may_take_workspace(act.what)) continue;
    place const& where = plan_.steps[act.what].where;
    for (int r = 0; r < where.count(); ++r) {
      logical_device& d = runtime::find_device(where.at(r));
      if (!d.is_card()) continue;
      frame const f{&p_, a_.values, extents_, a_.objects};
      p_.launches[act.what](
          {&f,
           act.what,
           r,
           {&d, record_of(act.what, d.name), nullptr, 0, &measured_workspace(d), tf32_}});
    }
  }
  obtain_workspaces();
}

LOCUS_FUNCTION bool runner::may_take_workspace(short region) const {
  step const& s = plan_.steps[region];
  if (s.kind == step_kind::matmul || s.takes_workspace) return true;
  for (short k = 0; k <= region; ++k)
    if (plan_.steps[k].region == region &&
        (plan_.levels[k] == level::fold || plan_.steps[k].kind == step_kind::matmul))
      return true;
  return false;
}

LOCUS_FUNCTION void runner::move_part(transfer const& t, side const& to, device to_name,
                                      side const& from, device from_name, bool skip) {
  step const& s = plan_.steps[t.from];
  int const rank = extents_[t.from].rank;
  if (!(to_name == from_name)) {
    std::int64_t const bytes = size_of(*from.at, rank) * s.element_bytes;
    bool const kept = kept_.is_there(to.number, to.replica);
    ++(kept ? done_.reused : done_.copies);
    (kept ? done_.bytes_reused : done_.bytes_moved) += bytes;
    if (seen_.log)
      log_copy(t.how, s, t.from, bytes, from_name, to_name,
               kept   ? "reused: kept from a copy before"
               : skip ? "both are host memory"
                      : std::string_view(),
               seen_.site);
    skip = skip || kept;
  }
  if (skip) return;
  step_record const record{t.from, "copy", to_name};
  runtime::running_scope const scope(&record);
  carry(to, from, rank, s.element_bytes, record);
}

LOCUS_FUNCTION void runner::move(transfer const& me) {
  if (&me - plan_.transfers.first ==
      runtime::planted.omit_transfer) {  // the mistake: readers get it where it is
    int const v = value_of(me);
    for (int r = 0; r < me.arrives.count(); ++r) value(v, r) = value(me.from, 0);
    return;
  }
  if (is_reduction(me.how)) return p_.reductions->reduce(this, me);
  if (brought_by_other(me)) return reuse(me, find_occurrence(me)->first);
  each_part(me, [&](side const& to, device to_name, side const& from, device from_name, bool skip) {
    move_part(me, to, to_name, from, from_name, skip);
  });
  if (me.how == transfer_kind::gather || me.how == transfer_kind::all_gather)
    settle();  // several copies fill one value: its readers wait for all of them
}

LOCUS_FUNCTION void runner::reuse(transfer const& me, short first) {
  step const& s = plan_.steps[me.from];
  int const v = value_of(me), other = plan_.steps.count + first;
  each_part(me, [&](side const&, device to_name, side const& from, device from_name, bool) {
    if (to_name == from_name) return;
    std::int64_t const bytes = size_of(*from.at, extents_[me.from].rank) * s.element_bytes;
    ++done_.reused, done_.bytes_reused += bytes;
    if (seen_.log)
      log_copy(me.how, s, me.from, bytes, from_name, to_name,
               "reused: the same tensor was brought before", seen_.site);
  });
  for (int r = 0; r < me.arrives.count(); ++r) a_.ready[index(v, r)] = a_.ready[index(other, r)];
}

LOCUS_FUNCTION void runner::hold_to_plan() const {
  tally const planned = p_.extents ? p_.planned : count_plan(plan_, extents_);
  tally all = done_;
  all.copies += std::exchange(all.reused, 0);
  all.bytes_moved += std::exchange(all.bytes_reused, 0);
  if (!(planned == all) && runtime::planted.omit_transfer < 0) refuse_difference(planned);
}

LOCUS_FUNCTION void runner::refuse_difference(tally const& planned) const {
  message text;
  text << "locus: the executor did not do what the plan says (planned/done):";
  auto write = [&](std::string_view what, std::int64_t a, std::int64_t b) {
    text << " " << what << " " << a << "/" << b;
  };
  write("launches", planned.launches, done_.launches);
  write("copies", planned.copies, done_.copies + done_.reused);
  write("bytes moved", planned.bytes_moved, done_.bytes_moved + done_.bytes_reused);
  write("all-reduces", planned.all_reduces, done_.all_reduces);
  write("other reductions", planned.other_reductions, done_.other_reductions);
  write("bytes reduced", planned.bytes_reduced, done_.bytes_reduced);
  write("fallbacks", planned.fallbacks, done_.fallbacks);
  throw error(text << "; this is an error in locus");
}

LOCUS_FUNCTION void runner::apply_policy_of(void* run) {
  runner const& r = *static_cast<runner*>(run);
  apply_copy_policy(r.seen_.copies, r.plan_, r.extents_, *r.seen_.code, r.seen_.site);
}

LOCUS_FUNCTION void runner::place_arrivals_of(void* run) {
  auto& r = *static_cast<runner*>(run);
  r.place_arrivals(r.seen_.keeps);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::detail

LOCUS_LEAN_END
