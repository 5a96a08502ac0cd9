// SPDX-License-Identifier: Apache-2.0
// Late queues: they run as late as possible, in a seeded order among the orders that events permit.
// They record the bytes that each task reads and writes, and find a missing event when the work is
// issued. Simulated GPUs and the recorder of CUDA's calls use them.
#pragma once
#include <utility>  // move

#include <locus/backend/simulated/task.hpp>  // task, queue, clock, failure, inside
#include <locus/core/error.hpp>              // message
#include <locus/core/lock.hpp>               // mutex
#include <locus/core/macros.hpp>             // LOCUS_COLD_BEGIN, LOCUS_HAS_BODIES
#include <locus/device/name.hpp>             // message << device
#include <locus/machine/launch_site.hpp>     // touched

LOCUS_COLD_BEGIN

namespace locus::simulated {

/// A set of late queues with their clocks, records of accesses and failures.
class late_queues {
 public:
  /// traced: the queues are those of the device table, and a trace shows the times of their tasks
  explicit late_queues(bool traced, bool checks_order = true)
      : traced_(traced), checks_order_(checks_order) {}
  late_queues(late_queues const&) = delete;
  /// means: drops tasks that have not run
  ~late_queues();

  /// means: adds work to queue q; operands: the bytes that it reads and writes
  /// fails: bad_access, if the work races with other work; bad_alloc. Nothing was issued then
  template <class Work>
  [[gnu::cold]] void issue(short q, step_record const& record, touched const* operands, int count,
                           Work work) {
    inside hold(lock_);
    queue& to = queues_[q];
    step_record const named = record;
    to.known.join(host_);
    for (int i = 0; i < count && checks_order_; ++i) check_order(q, operands[i], named);
    // all memory first, then all changes
    make_room(to, count);
    task t;
    t.run = [](void* w) { (*static_cast<Work*>(w))(); };
    t.drop = [](void* w) { delete static_cast<Work*>(w); };
    t.work = new Work(std::move(work));
    std::uint64_t const ticket = ++to.issued;
    to.known.of[q] = ticket;
    t.ticket = ticket, t.record = named, t.waits = std::move(to.waits);
    if (traced_ && runtime::issued_as && count > 0)
      t.span = *runtime::issued_as, runtime::the_tracer().waits(1);
    to.tasks.push(std::move(t));
    to.snapshots.push(to.known);
    for (int i = 0; i < count; ++i) remember(q, ticket, operands[i], named);
    if (to.tasks.size() - to.done > 4096) run_all();
  }
  /// means: those bytes are free: adds the task overwrite(), which writes them, so that a late
  ///        reader or an early writer gets wrong numbers
  /// fails: bad_access, now, and again when the host waits next, since destructors do not throw
  template <class Work>
  [[gnu::cold]] void retire(short q, device where, touched const& freed, Work overwrite) try {
    if (inside::is_here) return;  // exit() in a kernel: no work follows
    step_record const record{-1, "a free", where};
    if (runtime::planted.free_at_once)  // a mistake that a test plants
      check_free(freed, record), overwrite();
    else
      issue(q, record, &freed, 1, std::move(overwrite));
  } catch (std::bad_alloc const&) {  // the bytes are not poisoned
  } catch (...) {
    keep_failure();
    throw;
  }
  /// means: the point behind all work of q and behind all points that its next task waits for
  stamp last(short q);
  /// means: the next work of q runs after s
  void wait(short q, stamp s);
  /// means: the host waits until s has run     fails: the exception of a kernel that this thread
  ///        issued
  [[gnu::cold]] void synchronize(stamp s);
  /// means: runs only the tasks that s needs; in the race check this counts as no wait of the host
  [[gnu::cold]] void run(stamp s);
  bool has_run(stamp s);
  /// fails: bad_access, if the host accesses bytes that a task uses and the host has not waited for
  ///        that task
  void check_host(void const* p, std::size_t bytes, bool writes, step_record const& record);

  void run_everything();
  /// means: runs all tasks and starts anew with that seed; only without live tensors
  void reset(std::uint64_t seed);

  kept_work kept();

 protected:
  mutex lock_;

 private:
  /// means: reserves memory for one more task with so many operands, and for its failure
  void make_room(queue& to, int operands);
  /// means: drops records of accesses that the host has waited for: all later work comes after them
  void forget_known();
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
  void check_order(short q, touched const& t, step_record const& record);
  void check_free(touched const& t, step_record const& record);
  /// means: keeps the current exception for the next wait of this thread
  void keep_failure();
  [[gnu::cold]] void remember(short q, std::uint64_t ticket, touched const& t,
                              step_record const& record);

  std::uint64_t next_random();
  /// means: runs only the tasks that s needs
  [[gnu::cold]] void complete(stamp s);
  failure* failure_of(unsigned issuer);
  failure& note_failure(unsigned issuer);
  /// means: issued tasks that depend on the failed task never run; tasks that are issued later do
  void leave_out_dependents(failure& f);
  /// fails: with the exception of a kernel that this thread issued
  void rethrow_failure();
  void run_task(short number);
  /// means: writes the span of a task, from `begin` to now
  [[gnu::cold]] void trace_task(queue const& q, runtime::trace_span const& span,
                                std::int64_t begin) noexcept;  // no memory for one event
  void run_all();

  bool traced_, checks_order_;
  std::uint64_t random_ = 1;
  queue queues_[most_queues];
  clock host_;
  dynamic_array<access_record> accesses_;
  dynamic_array<failure> failures_;  // at most one for each thread
  unsigned issuers_ = 0;             // threads that have issued work
};

}  // namespace locus::simulated

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/backend/simulated/bodies/late_work.hpp>  // bodies of the functions above
#endif
