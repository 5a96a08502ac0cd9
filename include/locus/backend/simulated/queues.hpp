// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs: queues that run as late as possible, in a seeded order among what events permit,
// and a record of who reads and writes what, so that a missing event is found when the work is
// issued.
#pragma once
#include <csignal>    // sigaction
#include <exception>  // exception_ptr
#include <utility>    // move

#include <locus/backend/simulated/arena.hpp>  // arena
#include <locus/core/array.hpp>               // dynamic_array
#include <locus/core/error.hpp>               // message
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/device/name.hpp>           // message << device
#include <locus/machine/launch_site.hpp>   // touched, stamp, logical_device
#include <locus/runtime/device_table.hpp>  // logical_device, queue_kind, queues_of_device
#include <locus/watch/trace.hpp>           // trace_span

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
  void join(clock const& o);
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
  bool takes_in(short q, task const& t);
};

/// What a machine keeps, for tests that it does not grow.
struct kept_work {
  std::size_t tasks = 0, points = 0, accesses = 0;
};

/// means: the machine's lock. Kernels run inside it, so a thread that comes back is one whose functor
///        uses locus itself, or ends the program.
class [[nodiscard]] inside {
 public:
  explicit inside(mutex& m);
  inside(inside const&) = delete;
  ~inside();
  LOCUS_SHARED_STATE static inline thread_local constinit bool is_here = false;

 private:
  mutex& mutex_;
};

/// means: the queue of a logical device: its own, or the user's in its place
LOCUS_FUNCTION short queue_of(logical_device const& d, queue_kind kind);

class machine {
 public:
  // ---- memory: an arena for each logical GPU; kernels reach those of their own card ----
  void open(logical_device const& d);
  void* obtain(logical_device& d, std::size_t bytes);
  void give_back(logical_device& d, void* p, std::size_t bytes);
  /// memory that is free again: poisoned in its turn, so that who reads it too late or too early
  /// sees it; its next user comes behind that on the same queue
  /// fails: bad_access, now and, because destructors do not throw, when the host waits next
  [[gnu::cold]] void retire(logical_device& d, void* p, std::size_t bytes);
  /// /CPU:0 for host memory
  device device_of(void const* p) const;
  bool same_card(device owner, logical_device const& d) const;
  /// whether cards copy from each other directly
  void set_peers(bool peers) { peers_ = peers; }
  bool reaches(logical_device const& to, logical_device const& from) const {
    return peers_ || to.card == from.card;
  }
  /// -1 for host memory
  int card_of(void const* p) const;
  int card_of_queue(short q) const {
    return q < first_guest ? card_[q / runtime::queues_of_device] : guest_card_[q - first_guest];
  }
  /// a queue of the user's in place of a device's, each behind what the other was given
  void lend(logical_device& d, short guest);
  void take_back(logical_device& d);
  /// the address under which kernels reach what lies at p
  void* behind(void* p) const;
  /// for a kernel of that device: addresses on other cards stay as they are, and stay closed
  void* behind_on(logical_device const& d, void* p) const;

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
  stamp last(short q);
  /// the next work of q comes after s
  void wait(short q, stamp s);
  /// the host goes on when s has run     fails: with what a functor threw
  [[gnu::cold]] void synchronize(stamp s);
  /// fails: bad_access, when the host touches bytes that a queue still writes or reads
  void check_host(void const* p, std::size_t bytes, bool writes, step_record const& record);

  void run_everything();
  /// forgets what happened; only without live tensors
  void reset(std::uint64_t seed);

  kept_work kept();

 private:
  /// one task more, with so many operands, takes no memory; nor does what it throws
  void make_room(queue& to, int operands);
  /// what the host knows to have run comes before all that is issued from now on
  void forget_known(dynamic_array<access_record>& all);
  static constexpr std::size_t kept_accesses = 128, kept_tasks = 64;

  bool waits_for_something(short q);
  static message& describe(message& out, step_record const& r);
  static message& describe(message& out, access_record const& a) {
    return describe(out, step_record{a.step, a.name, a.where});
  }

  clock const& known_at(stamp s);
  bool before(access_record const& a, short q) const {
    return a.by.queue == q || a.by.ticket <= queues_[q].known.of[a.by.queue];
  }
  dynamic_array<access_record>& records_of(void const* p) {
    return arena_of(p) < 0 ? host_accesses_ : accesses_;
  }

  void check_order(short q, touched const& t, step_record const& record);
  void check_free(void* p, std::size_t bytes, step_record const& record);
  [[gnu::cold]] void remember(short q, std::uint64_t ticket, touched const& t,
                              step_record const& record);

  std::uint64_t next_random();
  /// runs what s needs, and no more
  [[gnu::cold]] void complete(stamp s);
  failure* failure_of(unsigned issuer);
  failure& note_failure(unsigned issuer);
  /// means: what depends on it and is issued already never runs; what comes later is not concerned
  void leave_out_dependents(failure& f);
  /// what kernels of this thread threw
  void rethrow_failure();
  void run_task(short number);
  /// from begin to now
  [[gnu::cold]] void trace_task(queue const& q, runtime::trace_span const& span,
                                std::int64_t begin) noexcept;  // no memory for one event
  void run_all();

  short card_of(int arena) const { return __atomic_load_n(&card_[arena], __ATOMIC_RELAXED); }
  arena& memory_of(logical_device const& d) { return arenas_[d.index % max_gpus]; }
  int arena_of(void const* p) const;

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

LOCUS_FUNCTION void on_fault(int signal, siginfo_t* info, void* context);
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

#if LOCUS_HAS_BODIES
#include <locus/backend/simulated/bodies/queues.hpp>  // bodies of the functions above
#endif
