// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/late_work.hpp declares.
#pragma once
#include <locus/backend/simulated/late_work.hpp>  // the declarations
#include <locus/core/clock.hpp>                   // read_clock
#include <locus/core/macros.hpp>                  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/runtime/queue_failures.hpp>       // count_queue_failure

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION late_queues::~late_queues() {
  for (queue& q : queues_)
    for (std::size_t i = q.done; i < q.tasks.size(); ++i) q.tasks[i].drop(q.tasks[i].work);
}

LOCUS_FUNCTION stamp late_queues::last(short q) {
  if (waits_for_something(q)) issue(q, {-1, "an event", device{}}, nullptr, 0, [] {});
  inside hold(lock_);
  return {q, queues_[q].issued};
}

LOCUS_FUNCTION void late_queues::wait(short q, stamp s) {
  if (!s.is_set() || s.queue == q || runtime::planted.no_waits) return;
  inside hold(lock_);
  queue& to = queues_[q];
  to.waits.push(s);
  to.known.join(known_at(s));
}

LOCUS_FUNCTION void late_queues::synchronize(stamp s) {
  if (!s.is_set() || runtime::planted.host_does_not_wait) return;
  inside hold(lock_);
  complete(s);
  host_.join(known_at(s));
  if (!runtime::unreported_waits::on) rethrow_failure();
}

LOCUS_FUNCTION void late_queues::run(stamp s) {
  if (!s.is_set()) return;
  inside hold(lock_);
  complete(s);
}

LOCUS_FUNCTION bool late_queues::has_run(stamp s) {
  inside hold(lock_);
  return !s.is_set() || queues_[s.queue].executed >= s.ticket;
}

LOCUS_FUNCTION void late_queues::check_host(void const* p, std::size_t bytes, bool writes,
                                            step_record const& record) {
  inside hold(lock_);
  for (access_record const& a : accesses_) {
    if (!a.conflicts({p, bytes, writes}) || a.by.ticket <= host_.of[a.by.queue]) continue;
    message text;
    describe(text << "locus: ", record) << (writes ? " writes" : " reads") << " host memory that ";
    describe(text, a) << (a.writes ? " has not written" : " has not read")
                      << " yet; the host must wait first";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void late_queues::run_everything() {
  inside hold(lock_);
  run_all();
}

LOCUS_FUNCTION void late_queues::reset(std::uint64_t seed) {
  run_everything();
  inside hold(lock_);
  for (queue& q : queues_) q = queue{};
  accesses_.clear();
  host_ = {}, failures_.clear();
  random_ = (2 * seed + 1) * 0x9E3779B97F4A7C15u;  // near seeds give distant states
}

LOCUS_FUNCTION kept_work late_queues::kept() {
  inside hold(lock_);
  kept_work k;
  for (queue const& q : queues_) k.tasks += q.tasks.size(), k.points += q.snapshots.size();
  k.accesses = accesses_.size();
  return k;
}

LOCUS_FUNCTION void late_queues::make_room(queue& to, int operands) {
  to.tasks.reserve(to.tasks.size() + 1);
  to.snapshots.reserve(to.snapshots.size() + 1);
  forget_known();
  accesses_.reserve(accesses_.size() + static_cast<std::size_t>(operands));
  unsigned const me = issuing_thread();
  if (issuers_ < me) issuers_ = me;
  failures_.reserve(issuers_);
}

LOCUS_FUNCTION void late_queues::forget_known() {
  if (accesses_.size() < 2 * kept_accesses) return;
  for (std::size_t i = accesses_.size(); i-- > 0;)
    if (accesses_[i].by.ticket <= host_.of[accesses_[i].by.queue]) accesses_.remove(i);
}

LOCUS_FUNCTION bool late_queues::waits_for_something(short q) {
  inside hold(lock_);
  return queues_[q].waits.size() > 0;
}

LOCUS_FUNCTION message& late_queues::describe(message& out, step_record const& r) {
  if (r.number < 0) return r.name.empty() ? out << "host code outside any step" : out << r.name;
  return out << "step " << int(r.number) << " (" << r.name << ") on " << r.where;
}

LOCUS_FUNCTION clock const& late_queues::known_at(stamp s) {
  queue const& q = queues_[s.queue];
  if (s.ticket == 0 || q.snapshots.empty()) return q.known;
  std::uint64_t const at = s.ticket < q.first_snapshot ? 0 : s.ticket - q.first_snapshot;
  return q.snapshots[at < q.snapshots.size() ? at : q.snapshots.size() - 1];
}

LOCUS_FUNCTION void late_queues::check_order(short q, touched const& t, step_record const& record) {
  for (access_record const& a : accesses_) {
    if (!a.conflicts(t) || before(a, q)) continue;
    message text;
    describe(text << "locus: ", record) << (t.writes ? " writes" : " reads") << " what ";
    describe(text, a) << (a.writes ? " writes" : " reads") << ", and no event orders them";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void late_queues::check_free(touched const& t, step_record const& record) {
  inside hold(lock_);
  for (access_record const& a : accesses_) {
    if (!a.conflicts(t) || a.by.ticket <= queues_[a.by.queue].executed) continue;
    message text;
    describe(text << "locus: ", record) << " gives memory back that ";
    describe(text, a) << " has not " << (a.writes ? "written" : "read")
                      << " yet; free it in the order of its queue";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void late_queues::remember(short q, std::uint64_t ticket, touched const& t,
                                          step_record const& record) {
  auto const* const first = static_cast<std::byte const*>(t.first);
  for (std::size_t i = 0; i < accesses_.size();) {  // a covered access comes before this one
    access_record const& a = accesses_[i];
    bool const covered = first <= a.first && a.last <= first + t.bytes;
    bool const same_reader = !t.writes && !a.writes && a.by.queue == q;
    if (covered && (t.writes || same_reader))
      accesses_.remove(i);
    else
      ++i;
  }
  accesses_.push(
      {first, first + t.bytes, t.writes, {q, ticket}, record.number, record.name, record.where});
}

LOCUS_FUNCTION std::uint64_t late_queues::next_random() {
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  return random_;
}

LOCUS_FUNCTION void late_queues::complete(stamp s) {
  queue& q = queues_[s.queue];
  while (q.executed < s.ticket) {
    task& t = q.tasks[q.done];
    for (std::size_t left = t.waits.size(); left > 0; --left) {  // in any order
      std::size_t const pick = next_random() % left;
      stamp const w = t.waits[pick];
      t.waits[pick] = t.waits[left - 1], t.waits[left - 1] = w;
      complete(w);
    }
    run_task(s.queue);
  }
}

LOCUS_FUNCTION failure* late_queues::failure_of(unsigned issuer) {
  for (failure& f : failures_)
    if (f.issuer == issuer) return &f;
  return nullptr;
}

LOCUS_FUNCTION failure& late_queues::note_failure(unsigned issuer) {
  if (failure* const f = failure_of(issuer)) return *f;
  runtime::count_queue_failure();
  failure f;
  f.what = std::current_exception(), f.issuer = issuer;
  return failures_.push(std::move(f));
}

LOCUS_FUNCTION void late_queues::keep_failure() {
  inside hold(lock_);
  note_failure(issuing_thread());
}

LOCUS_FUNCTION void late_queues::leave_out_dependents(failure& f) {
  for (bool more = true; more;) {
    more = false;
    for (short q = 0; q < most_queues; ++q)
      for (std::size_t i = queues_[q].done; i < queues_[q].tasks.size(); ++i) {
        task& t = queues_[q].tasks[i];
        if (t.left_out || t.issuer != f.issuer || !f.takes_in(q, t)) continue;
        t.left_out = more = true;
      }
  }
}

LOCUS_FUNCTION void late_queues::rethrow_failure() {
  failure* const f = failure_of(issuing_thread());
  if (!f) return;
  leave_out_dependents(*f);
  runtime::count_queue_failure();  // copies since the kernel failed are left out, too
  std::exception_ptr const what = std::move(f->what);
  failures_.remove(static_cast<std::size_t>(f - failures_.begin()));
  std::rethrow_exception(what);
}

LOCUS_FUNCTION void late_queues::run_task(short number) {
  queue& q = queues_[number];
  task t = std::move(q.tasks[q.done]);
  ++q.done;
  q.executed = t.ticket;
  std::int64_t const begin = t.span.is_set() ? read_clock() : 0;
  {
    runtime::running_scope scope(&t.record);
    failure* const before = failure_of(t.issuer);
    try {
      if (!t.left_out && !(before && before->takes_in(number, t))) t.run(t.work);
    } catch (...) {
      note_failure(t.issuer).reaches(number, t.ticket);
    }
  }
  if (t.span.is_set()) trace_task(q, t.span, begin);
  t.drop(t.work);
  if (q.done == q.tasks.size() || (q.done >= kept_tasks && 2 * q.done >= q.tasks.size()))
    q.tasks.drop_front(std::exchange(q.done, 0));
  if (q.snapshots.size() > 2048) {
    clock const newest = q.snapshots.back();
    q.first_snapshot = q.issued;
    q.snapshots.clear();
    q.snapshots.push(newest);
  }
}

LOCUS_FUNCTION void late_queues::trace_task(queue const& q, runtime::trace_span const& span,
                                            std::int64_t begin) noexcept try {
  auto const number = static_cast<short>(&q - queues_);
  device const of = gpu(number / runtime::queues_of_device);
  runtime::the_tracer().waits(-1);
  runtime::the_tracer().ran(span, runtime::track_of(of, runtime::kind_of_queue(number)), begin,
                            read_clock());
} catch (...) {}

LOCUS_FUNCTION void late_queues::run_all() {
  for (int q = 0; q < most_queues; ++q)
    if (queues_[q].issued > queues_[q].executed)
      complete({static_cast<short>(q), queues_[q].issued});
}

}  // namespace locus::simulated

LOCUS_COLD_END
