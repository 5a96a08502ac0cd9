// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that backend/simulated/queues.hpp declares.
#pragma once
#include <unistd.h>  // ::write

#include <locus/backend/simulated/queues.hpp>  // the declarations
#include <locus/core/clock.hpp>                // read_clock
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::simulated {

LOCUS_FUNCTION void clock::join(clock const& o) {
  for (int q = 0; q <= queues; ++q)
    if (o.of[q] > of[q]) of[q] = o.of[q];
}

LOCUS_FUNCTION bool failure::takes_in(short q, task const& t) {
  bool depends = has_reached({q, t.ticket});
  for (stamp const& s : t.waits) depends = depends || has_reached(s);
  if (depends) reaches(q, t.ticket);
  return depends;
}

LOCUS_FUNCTION inside::inside(mutex& m) : mutex_(m) {
  if (is_here)
    throw bad_access(
        "locus: a kernel of a simulated GPU uses locus itself; compute that before the plan");
  mutex_.lock();
  is_here = true;
}

LOCUS_FUNCTION inside::~inside() {
  is_here = false;
  mutex_.unlock();
}

LOCUS_FUNCTION short queue_of(logical_device const& d, queue_kind kind) {
  if (d.lent >= 0 && kind == queue_kind::compute) return d.lent;
  return static_cast<short>(runtime::queues_of_device * (d.index % max_gpus) +
                            static_cast<int>(kind));
}

LOCUS_FUNCTION void machine::open(logical_device const& d) {
  memory_of(d).open();
  __atomic_store_n(&card_[d.index % max_gpus], d.card, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION void* machine::obtain(logical_device& d, std::size_t bytes) {
  inside hold(lock_);
  open(d);
  return memory_of(d).allocate(bytes);
}

LOCUS_FUNCTION void machine::give_back(logical_device& d, void* p, std::size_t bytes) {
  inside hold(lock_);
  memory_of(d).release(p, bytes);
}

LOCUS_FUNCTION void machine::retire(logical_device& d, void* p, std::size_t bytes) try {
  if (inside::is_here) return;  // exit() in a kernel: nobody will use it again
  arena& a = memory_of(d);
  step_record const record{-1, "a free", d.name};
  if (runtime::planted.free_at_once) {  // the mistake that this machine exists to find
    check_free(p, bytes, record);
    a.poison_range(p, bytes);
  } else {
    touched const whole{p, bytes, true};
    issue(queue_of(d, queue_kind::compute), record, &whole, 1,
          [&a, p, bytes] { a.poison_range(p, bytes); });
  }
} catch (std::bad_alloc const&) {  // not poisoned, then
} catch (...) {
  inside hold(lock_);
  note_failure(issuing_thread());
  throw;
}

LOCUS_FUNCTION device machine::device_of(void const* p) const {
  int const i = arena_of(p);
  return i < 0 ? cpu(0) : gpu(i);
}

LOCUS_FUNCTION bool machine::same_card(device owner, logical_device const& d) const {
  if (!owner.is_gpu() || !d.is_simulated()) return !owner.is_gpu() && !d.is_simulated();
  return card_of(owner.ordinal()) == d.card;
}

LOCUS_FUNCTION int machine::card_of(void const* p) const {
  int const i = arena_of(p);
  return i < 0 ? -1 : card_[i];
}

LOCUS_FUNCTION void machine::lend(logical_device& d, short guest) {
  wait(guest, last(queue_of(d, queue_kind::compute)));
  d.lent = guest, guest_card_[guest - first_guest] = d.card;
}

LOCUS_FUNCTION void machine::take_back(logical_device& d) {
  if (d.lent < 0) return;
  stamp const s = last(std::exchange(d.lent, short(-1)));
  wait(queue_of(d, queue_kind::compute), s);
}

LOCUS_FUNCTION void* machine::behind(void* p) const {
  int const i = arena_of(p);
  return i < 0 ? p : arenas_[i].behind(p);
}

LOCUS_FUNCTION void* machine::behind_on(logical_device const& d, void* p) const {
  int const i = arena_of(p);
  return i >= 0 && card_of(i) == d.card ? arenas_[i].behind(p) : p;
}

LOCUS_FUNCTION stamp machine::last(short q) {
  if (waits_for_something(q)) issue(q, {-1, "an event", device{}}, nullptr, 0, [] {});
  inside hold(lock_);
  return {q, queues_[q].issued};
}

LOCUS_FUNCTION void machine::wait(short q, stamp s) {
  if (!s.is_set() || s.queue == q || runtime::planted.no_waits) return;
  inside hold(lock_);
  queue& to = queues_[q];
  to.waits.push(s);
  to.known.join(known_at(s));
}

LOCUS_FUNCTION void machine::synchronize(stamp s) {
  if (!s.is_set() || runtime::planted.host_does_not_wait) return;
  inside hold(lock_);
  complete(s);
  host_.join(known_at(s));
  if (!runtime::unreported_waits::on) rethrow_failure();
}

LOCUS_FUNCTION void machine::check_host(void const* p, std::size_t bytes, bool writes,
                                        step_record const& record) {
  inside hold(lock_);
  auto const* const first = static_cast<std::byte const*>(p);
  for (access_record const& a : host_accesses_) {
    bool const apart = first + bytes <= a.first || a.last <= first;
    if (apart || (!a.writes && !writes) || a.by.ticket <= host_.of[a.by.queue]) continue;
    message text;
    describe(text << "locus: ", record) << (writes ? " writes" : " reads") << " host memory that ";
    describe(text, a) << (a.writes ? " has not written" : " has not read")
                      << " yet; the host must wait first";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void machine::run_everything() {
  inside hold(lock_);
  run_all();
}

LOCUS_FUNCTION void machine::reset(std::uint64_t seed) {
  run_everything();
  inside hold(lock_);
  for (queue& q : queues_) q = queue{};
  accesses_.clear(), host_accesses_.clear();
  host_ = {}, failures_.clear();
  random_ = (2 * seed + 1) * 0x9E3779B97F4A7C15u;  // near seeds are far apart
}

LOCUS_FUNCTION kept_work machine::kept() {
  inside hold(lock_);
  kept_work k;
  for (queue const& q : queues_) k.tasks += q.tasks.size(), k.points += q.snapshots.size();
  k.accesses = accesses_.size() + host_accesses_.size();
  return k;
}

LOCUS_FUNCTION void machine::make_room(queue& to, int operands) {
  to.tasks.reserve(to.tasks.size() + 1);
  to.snapshots.reserve(to.snapshots.size() + 1);
  for (dynamic_array<access_record>* all : {&accesses_, &host_accesses_}) {
    forget_known(*all);
    all->reserve(all->size() + static_cast<std::size_t>(operands));
  }
  unsigned const me = issuing_thread();
  if (issuers_ < me) issuers_ = me;
  failures_.reserve(issuers_);
}

LOCUS_FUNCTION void machine::forget_known(dynamic_array<access_record>& all) {
  if (all.size() < 2 * kept_accesses) return;
  for (std::size_t i = all.size(); i-- > 0;)
    if (all[i].by.ticket <= host_.of[all[i].by.queue]) all.remove(i);
}

LOCUS_FUNCTION bool machine::waits_for_something(short q) {
  inside hold(lock_);
  return queues_[q].waits.size() > 0;
}

LOCUS_FUNCTION message& machine::describe(message& out, step_record const& r) {
  if (r.number < 0) return r.name.empty() ? out << "host code outside any step" : out << r.name;
  return out << "step " << int(r.number) << " (" << r.name << ") on " << r.where;
}

LOCUS_FUNCTION clock const& machine::known_at(stamp s) {
  queue const& q = queues_[s.queue];
  if (s.ticket == 0 || q.snapshots.empty()) return q.known;
  std::uint64_t const at = s.ticket < q.first_snapshot ? 0 : s.ticket - q.first_snapshot;
  return q.snapshots[at < q.snapshots.size() ? at : q.snapshots.size() - 1];
}

LOCUS_FUNCTION void machine::check_order(short q, touched const& t, step_record const& record) {
  auto const* const first = static_cast<std::byte const*>(t.first);
  for (access_record const& a : records_of(t.first)) {
    bool const apart = first + t.bytes <= a.first || a.last <= first;
    if (apart || (!a.writes && !t.writes) || before(a, q)) continue;
    message text;
    describe(text << "locus: ", record) << (t.writes ? " writes" : " reads") << " what ";
    describe(text, a) << (a.writes ? " writes" : " reads") << ", and no event orders them";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void machine::check_free(void* p, std::size_t bytes, step_record const& record) {
  inside hold(lock_);
  auto const* const first = static_cast<std::byte const*>(p);
  for (access_record const& a : accesses_) {
    bool const apart = first + bytes <= a.first || a.last <= first;
    if (apart || a.by.ticket <= queues_[a.by.queue].executed) continue;
    message text;
    describe(text << "locus: ", record) << " gives memory back that ";
    describe(text, a) << " has not " << (a.writes ? "written" : "read")
                      << " yet; free it in the order of its queue";
    throw bad_access(text);
  }
}

LOCUS_FUNCTION void machine::remember(short q, std::uint64_t ticket, touched const& t,
                                      step_record const& record) {
  auto const* const first = static_cast<std::byte const*>(t.first);
  dynamic_array<access_record>& records = records_of(t.first);
  for (std::size_t i = 0;
       i < records.size();) {  // what is covered comes before, and is no longer needed
    access_record const& a = records[i];
    bool const covered = first <= a.first && a.last <= first + t.bytes;
    bool const same_reader = !t.writes && !a.writes && a.by.queue == q;
    if (covered && (t.writes || same_reader))
      records.remove(i);
    else
      ++i;
  }
  records.push(
      {first, first + t.bytes, t.writes, {q, ticket}, record.number, record.name, record.where});
}

LOCUS_FUNCTION std::uint64_t machine::next_random() {
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  return random_;
}

LOCUS_FUNCTION void machine::complete(stamp s) {
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

LOCUS_FUNCTION failure* machine::failure_of(unsigned issuer) {
  for (failure& f : failures_)
    if (f.issuer == issuer) return &f;
  return nullptr;
}

LOCUS_FUNCTION failure& machine::note_failure(unsigned issuer) {
  if (failure* const f = failure_of(issuer)) return *f;
  failure f;
  f.what = std::current_exception(), f.issuer = issuer;
  return failures_.push(std::move(f));
}

LOCUS_FUNCTION void machine::leave_out_dependents(failure& f) {
  for (bool more = true; more;) {
    more = false;
    for (short q = 0; q < queues; ++q)
      for (std::size_t i = queues_[q].done; i < queues_[q].tasks.size(); ++i) {
        task& t = queues_[q].tasks[i];
        if (t.left_out || t.issuer != f.issuer || !f.takes_in(q, t)) continue;
        t.left_out = more = true;
      }
  }
}

LOCUS_FUNCTION void machine::rethrow_failure() {
  failure* const f = failure_of(issuing_thread());
  if (!f) return;
  leave_out_dependents(*f);
  std::exception_ptr const what = std::move(f->what);
  failures_.remove(static_cast<std::size_t>(f - failures_.begin()));
  std::rethrow_exception(what);
}

LOCUS_FUNCTION void machine::run_task(short number) {
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

LOCUS_FUNCTION void machine::trace_task(queue const& q, runtime::trace_span const& span,
                                        std::int64_t begin) noexcept try {
  auto const number = static_cast<short>(&q - queues_);
  device const of = gpu(number / runtime::queues_of_device);
  runtime::the_tracer().waits(-1);
  runtime::the_tracer().ran(span, runtime::track_of(of, runtime::kind_of_queue(number)), begin,
                            read_clock());
} catch (...) {}

LOCUS_FUNCTION void machine::run_all() {
  for (int q = 0; q < queues; ++q)
    if (queues_[q].issued > queues_[q].executed)
      complete({static_cast<short>(q), queues_[q].issued});
}

LOCUS_FUNCTION int machine::arena_of(void const* p) const {
  for (int i = 0; i < max_gpus; ++i)
    if (arenas_[i].holds(p)) return i;
  return -1;
}

LOCUS_FUNCTION void on_fault(int signal, siginfo_t* info, void* context) {
  if (device const owner = gpus().device_of(info->si_addr); owner.is_gpu()) {
    message text;
    text << "locus: ";
    if (step_record const* const r = runtime::running)
      text << "step " << int(r->number) << " (" << r->name << ") on " << r->where;
    else
      text << "host code outside any step";
    text << " touched memory of " << owner
         << "; a copy is missing in the plan, or a pointer was taken out of a "
         << "GPU tensor\n";
    auto const ignored = ::write(2, text.c_str(), text.view().size());
    static_cast<void>(ignored);
  }
  if (handler_before.sa_flags & SA_SIGINFO)
    handler_before.sa_sigaction(signal, info, context);
  else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
    handler_before.sa_handler(signal);
  else
    ::signal(SIGSEGV, SIG_DFL);  // back to the instruction: it faults again and ends the process
}

}  // namespace locus::simulated

LOCUS_COLD_END
