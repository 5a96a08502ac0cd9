// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs: queues that run as late as possible, in a seeded order among what events permit,
// and a record of who reads and writes what, so that a missing event is found when the work is
// issued.
#pragma once
#include <csignal>    // sigaction
#include <exception>  // exception_ptr
#include <utility>    // move

#include <locus/backend/seam.hpp>             // touched, stamp, logical_device
#include <locus/backend/simulated/arena.hpp>  // arena
#include <locus/core/array.hpp>               // dynamic_array
#include <locus/core/clock.hpp>               // read_clock
#include <locus/core/config.hpp>              // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>               // bad_access
#include <locus/device/name.hpp>              // message << device
#include <locus/runtime/table.hpp>            // running_scope, planted
#include <locus/runtime/trace.hpp>            // trace_span

LOCUS_COLD_BEGIN

namespace locus::simulated {

inline constexpr int max_gpus = 16;
inline constexpr int first_guest =
    runtime::queues_of_device * max_gpus;  // these belong to no device
inline constexpr int guests = 4;
inline constexpr int queues = first_guest + guests;
inline constexpr int host_clock = queues;

/// means: for each queue, the last of its tasks that is known to come before
struct clock {
  std::uint64_t of[queues + 1]{};
  void join(clock const& o) {
    for (int q = 0; q <= queues; ++q)
      if (o.of[q] > of[q]) of[q] = o.of[q];
  }
};

/// means: the host thread that issues work: what its kernels throw is for it alone
LOCUS_SHARED_STATE inline unsigned issuing_thread() {
  static constinit unsigned threads = 0;
  static thread_local unsigned const mine = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  return mine;
}

/// One piece of work in a queue.
struct task {
  unsigned issuer = issuing_thread();
  void (*run)(void*) = nullptr;
  void (*drop)(void*) = nullptr;
  void* work = nullptr;
  std::uint64_t ticket = 0;
  step_record record{};
  dynamic_array<stamp> waits;
  bool left_out = false;       // it depends on one that failed
  runtime::trace_span span{};  // under a trace
};

struct queue {
  dynamic_array<task> tasks;  // [0, done) have run, and go from time to time
  std::size_t done = 0;
  std::uint64_t issued = 0, executed = 0;
  clock known;                     // what comes before the next task
  dynamic_array<clock> snapshots;  // [ticket - first_snapshot]: what was known at that task
  std::uint64_t first_snapshot = 1;
  dynamic_array<stamp> waits;  // for the next task
};

/// Who touched which bytes last, as far as it matters for what comes next.
struct access_record {
  std::byte const *first = nullptr, *last = nullptr;
  bool writes = false;
  stamp by;
  short step = -1;
  std::string_view name;
  device where{};
};

/// What a kernel threw, for the thread that issued it, until the host hears of it; and what depends on
/// it: work of that thread behind it in its queue, what waits for that, and so on.
struct failure {
  std::exception_ptr what;
  unsigned issuer = 0;
  std::uint64_t from[queues]{};  // in each queue, the first ticket that depends on it; 0: none

  void reaches(short q, std::uint64_t ticket) {
    if (from[q] == 0 || ticket < from[q]) from[q] = ticket;
  }
  bool has_reached(stamp s) const { return from[s.queue] != 0 && from[s.queue] <= s.ticket; }
  /// means: t is left out, and so is what depends on t
  bool takes_in(short q, task const& t) {
    bool depends = has_reached({q, t.ticket});
    for (stamp const& s : t.waits) depends = depends || has_reached(s);
    if (depends) reaches(q, t.ticket);
    return depends;
  }
};

/// What a machine keeps, for tests that it does not grow.
struct kept_work {
  std::size_t tasks = 0, points = 0, accesses = 0;
};

/// means: the machine's lock. Kernels run inside it, so a thread that comes back is one whose functor
///        uses locus itself, or ends the program.
class [[nodiscard]] inside {
 public:
  explicit inside(mutex& m) : mutex_(m) {
    if (is_here)
      throw bad_access(
          "locus: a kernel of a simulated GPU uses locus itself; compute that before the plan");
    mutex_.lock();
    is_here = true;
  }
  inside(inside const&) = delete;
  ~inside() {
    is_here = false;
    mutex_.unlock();
  }
  LOCUS_SHARED_STATE static inline thread_local constinit bool is_here = false;

 private:
  mutex& mutex_;
};

/// means: the queue of a logical device: its own, or the user's in its place
inline short queue_of(logical_device const& d, queue_kind kind) {
  if (d.lent >= 0 && kind == queue_kind::compute) return d.lent;
  return static_cast<short>(runtime::queues_of_device * (d.index % max_gpus) +
                            static_cast<int>(kind));
}

class machine {
 public:
  // ---- memory: an arena for each logical GPU; kernels reach those of their own card ----
  void open(logical_device const& d) {
    memory_of(d).open();
    __atomic_store_n(&card_[d.index % max_gpus], d.card, __ATOMIC_RELAXED);
  }
  void* obtain(logical_device& d, std::size_t bytes) {
    inside hold(lock_);
    open(d);
    return memory_of(d).allocate(bytes);
  }
  void give_back(logical_device& d, void* p, std::size_t bytes) {
    inside hold(lock_);
    memory_of(d).release(p, bytes);
  }
  /// memory that is free again: poisoned in its turn, so that who reads it too late or too early
  /// sees it; its next user comes behind that on the same queue
  /// fails: bad_access, now and, because destructors do not throw, when the host waits next
  [[gnu::cold]] void retire(logical_device& d, void* p, std::size_t bytes) try {
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
  /// /CPU:0 for host memory
  device device_of(void const* p) const {
    int const i = arena_of(p);
    return i < 0 ? cpu(0) : gpu(i);
  }
  bool same_card(device owner, logical_device const& d) const {
    if (!owner.is_gpu() || d.how != backing::simulated)
      return !owner.is_gpu() && d.how != backing::simulated;
    return card_of(owner.ordinal()) == d.card;
  }
  /// whether cards copy from each other directly
  void set_peers(bool peers) { peers_ = peers; }
  bool reaches(logical_device const& to, logical_device const& from) const {
    return peers_ || to.card == from.card;
  }
  /// -1 for host memory
  int card_of(void const* p) const {
    int const i = arena_of(p);
    return i < 0 ? -1 : card_[i];
  }
  int card_of_queue(short q) const {
    return q < first_guest ? card_[q / runtime::queues_of_device] : guest_card_[q - first_guest];
  }
  /// a queue of the user's in place of a device's, each behind what the other was given
  void lend(logical_device& d, short guest) {
    wait(guest, last(queue_of(d, queue_kind::compute)));
    d.lent = guest, guest_card_[guest - first_guest] = d.card;
  }
  void take_back(logical_device& d) {
    if (d.lent < 0) return;
    stamp const s = last(std::exchange(d.lent, short(-1)));
    wait(queue_of(d, queue_kind::compute), s);
  }
  /// the address under which kernels reach what lies at p
  void* behind(void* p) const {
    int const i = arena_of(p);
    return i < 0 ? p : arenas_[i].behind(p);
  }
  /// for a kernel of that device: addresses on other cards stay as they are, and stay closed
  void* behind_on(logical_device const& d, void* p) const {
    int const i = arena_of(p);
    return i >= 0 && card_of(i) == d.card ? arenas_[i].behind(p) : p;
  }

  // ---- queues ----
  /// adds work to a queue; fails: bad_access, when it races with other work; bad_alloc. Nothing was
  /// issued then.
  template <class Work>
  [[gnu::cold]] void issue(short q, step_record const& record, touched const* operands, int count,
                           Work work) {
    inside hold(lock_);
    queue& to = queues_[q];
    step_record const named = record;
    to.known.join(host_);
    for (int i = 0; i < count; ++i) check_order(q, operands[i], named);
    // all memory first, then all changes
    make_room(to, count);
    task t;
    t.run = [](void* w) { (*static_cast<Work*>(w))(); };
    t.drop = [](void* w) { delete static_cast<Work*>(w); };
    t.work = new Work(std::move(work));
    std::uint64_t const ticket = ++to.issued;
    to.known.of[q] = ticket;
    t.ticket = ticket, t.record = named, t.waits = std::move(to.waits);
    if (runtime::issued_as && count > 0)
      t.span = *runtime::issued_as, runtime::the_tracer().waits(1);
    to.tasks.push(std::move(t));
    to.snapshots.push(to.known);
    for (int i = 0; i < count; ++i) remember(q, ticket, operands[i], named);
    if (to.tasks.size() - to.done > 4096) run_all();
  }
  /// means: the point behind all that q was given: what its next task would wait for counts too
  stamp last(short q) {
    if (waits_for_something(q)) issue(q, {-1, "an event", device{}}, nullptr, 0, [] {});
    inside hold(lock_);
    return {q, queues_[q].issued};
  }
  /// the next work of q comes after s
  void wait(short q, stamp s) {
    if (!s.is_set() || s.queue == q || runtime::planted.no_waits) return;
    inside hold(lock_);
    queue& to = queues_[q];
    to.waits.push(s);
    to.known.join(known_at(s));
  }
  /// the host goes on when s has run     fails: with what a functor threw
  [[gnu::cold]] void synchronize(stamp s) {
    if (!s.is_set() || runtime::planted.host_does_not_wait) return;
    inside hold(lock_);
    complete(s);
    host_.join(known_at(s));
    if (!runtime::unreported_waits::on) rethrow_failure();
  }
  /// fails: bad_access, when the host touches bytes that a queue still writes or reads
  void check_host(void const* p, std::size_t bytes, bool writes, step_record const& record) {
    inside hold(lock_);
    auto const* const first = static_cast<std::byte const*>(p);
    for (access_record const& a : host_accesses_) {
      bool const apart = first + bytes <= a.first || a.last <= first;
      if (apart || (!a.writes && !writes) || a.by.ticket <= host_.of[a.by.queue]) continue;
      message text;
      describe(text << "locus: ", record)
          << (writes ? " writes" : " reads") << " host memory that ";
      describe(text, a) << (a.writes ? " has not written" : " has not read")
                        << " yet; the host must wait first";
      throw bad_access(text);
    }
  }

  void run_everything() {
    inside hold(lock_);
    run_all();
  }
  /// forgets what happened; only without live tensors
  void reset(std::uint64_t seed) {
    run_everything();
    inside hold(lock_);
    for (queue& q : queues_) q = queue{};
    accesses_.clear(), host_accesses_.clear();
    host_ = {}, failures_.clear();
    random_ = (2 * seed + 1) * 0x9E3779B97F4A7C15u;  // near seeds are far apart
  }

  kept_work kept() {
    inside hold(lock_);
    kept_work k;
    for (queue const& q : queues_) k.tasks += q.tasks.size(), k.points += q.snapshots.size();
    k.accesses = accesses_.size() + host_accesses_.size();
    return k;
  }

 private:
  /// one task more, with so many operands, takes no memory; nor does what it throws
  void make_room(queue& to, int operands) {
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
  /// what the host knows to have run comes before all that is issued from now on
  void forget_known(dynamic_array<access_record>& all) {
    if (all.size() < 2 * kept_accesses) return;
    for (std::size_t i = all.size(); i-- > 0;)
      if (all[i].by.ticket <= host_.of[all[i].by.queue]) all.remove(i);
  }
  static constexpr std::size_t kept_accesses = 128, kept_tasks = 64;

  bool waits_for_something(short q) {
    inside hold(lock_);
    return queues_[q].waits.size() > 0;
  }
  static message& describe(message& out, step_record const& r) {
    if (r.number < 0) return r.name.empty() ? out << "host code outside any step" : out << r.name;
    return out << "step " << int(r.number) << " (" << r.name << ") on " << r.where;
  }
  static message& describe(message& out, access_record const& a) {
    return describe(out, step_record{a.step, a.name, a.where});
  }

  clock const& known_at(stamp s) {
    queue const& q = queues_[s.queue];
    if (s.ticket == 0 || q.snapshots.empty()) return q.known;
    std::uint64_t const at = s.ticket < q.first_snapshot ? 0 : s.ticket - q.first_snapshot;
    return q.snapshots[at < q.snapshots.size() ? at : q.snapshots.size() - 1];
  }
  bool before(access_record const& a, short q) const {
    return a.by.queue == q || a.by.ticket <= queues_[q].known.of[a.by.queue];
  }
  dynamic_array<access_record>& records_of(void const* p) {
    return arena_of(p) < 0 ? host_accesses_ : accesses_;
  }

  void check_order(short q, touched const& t, step_record const& record) {
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
  void check_free(void* p, std::size_t bytes, step_record const& record) {
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
  [[gnu::cold]] void remember(short q, std::uint64_t ticket, touched const& t,
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

  std::uint64_t next_random() {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    return random_;
  }
  /// runs what s needs, and no more
  [[gnu::cold]] void complete(stamp s) {
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
  failure* failure_of(unsigned issuer) {
    for (failure& f : failures_)
      if (f.issuer == issuer) return &f;
    return nullptr;
  }
  failure& note_failure(unsigned issuer) {
    if (failure* const f = failure_of(issuer)) return *f;
    failure f;
    f.what = std::current_exception(), f.issuer = issuer;
    return failures_.push(std::move(f));
  }
  /// means: what depends on it and is issued already never runs; what comes later is not concerned
  void leave_out_dependents(failure& f) {
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
  /// what kernels of this thread threw
  void rethrow_failure() {
    failure* const f = failure_of(issuing_thread());
    if (!f) return;
    leave_out_dependents(*f);
    std::exception_ptr const what = std::move(f->what);
    failures_.remove(static_cast<std::size_t>(f - failures_.begin()));
    std::rethrow_exception(what);
  }
  void run_task(short number) {
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
  /// from begin to now
  [[gnu::cold]] void trace_task(queue const& q, runtime::trace_span const& span,
                                std::int64_t begin) noexcept try {
    auto const number = static_cast<short>(&q - queues_);
    device const of = gpu(number / runtime::queues_of_device);
    runtime::the_tracer().waits(-1);
    runtime::the_tracer().ran(span, runtime::track_of(of, runtime::kind_of_queue(number)), begin,
                              read_clock());
  } catch (...) {}  // no memory for one event
  void run_all() {
    for (int q = 0; q < queues; ++q)
      if (queues_[q].issued > queues_[q].executed)
        complete({static_cast<short>(q), queues_[q].issued});
  }

  short card_of(int arena) const { return __atomic_load_n(&card_[arena], __ATOMIC_RELAXED); }
  arena& memory_of(logical_device const& d) { return arenas_[d.index % max_gpus]; }
  int arena_of(void const* p) const {
    for (int i = 0; i < max_gpus; ++i)
      if (arenas_[i].holds(p)) return i;
    return -1;
  }

  arena arenas_[max_gpus];
  short card_[max_gpus]{};  // [arena]
  short guest_card_[guests]{};
  bool peers_ = true;
  std::uint64_t random_ = 1;
  mutex lock_;
  queue queues_[queues];
  clock host_;
  dynamic_array<access_record> accesses_, host_accesses_;
  dynamic_array<failure> failures_;  // at most one of each thread
  unsigned issuers_ = 0;             // threads that have issued work
};

/// One for each process. Never destroyed: tensors may outlive every static object.
LOCUS_SHARED_STATE inline machine& gpus() {
  static machine* const m = new machine;
  return *m;
}

// ---- the message of a forbidden access ----
LOCUS_SHARED_STATE inline struct sigaction handler_before{};

inline void on_fault(int signal, siginfo_t* info, void* context) {
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
LOCUS_SHARED_STATE inline void install_fault_handler() {
  static bool const once = [] {
    struct sigaction ours{};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &ours, &handler_before) == 0;
  }();
  static_cast<void>(once);
}

}  // namespace locus::simulated

LOCUS_COLD_END
