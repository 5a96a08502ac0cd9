// SPDX-License-Identifier: Apache-2.0
// Parts of late queues: a task, a queue of tasks, clocks that order tasks, the record of an access,
// and a failure with the tasks that depend on it.
#pragma once
#include <exception>    // exception_ptr
#include <string_view>  // string_view

#include <locus/core/array.hpp>           // dynamic_array
#include <locus/core/error.hpp>           // bad_access
#include <locus/core/lock.hpp>            // mutex
#include <locus/core/macros.hpp>          // LOCUS_SHARED_STATE, LOCUS_COLD_BEGIN
#include <locus/machine/launch_site.hpp>  // touched, stamp, step_record
#include <locus/watch/trace.hpp>          // trace_span

LOCUS_COLD_BEGIN

namespace locus::simulated {

inline constexpr int most_queues = 64;  // of one late_queues

/// means: for each queue, the last of its tasks that is known to come before a point
struct clock {
  std::uint64_t of[most_queues]{};
  void join(clock const& o) {
    for (int q = 0; q < most_queues; ++q)
      if (o.of[q] > of[q]) of[q] = o.of[q];
  }
};

/// means: the number of the host thread that issues work: it alone gets the exceptions of its
///        kernels
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
  bool left_out = false;       // it depends on a task that failed
  runtime::trace_span span{};  // under a trace
};

struct queue {
  dynamic_array<task> tasks;  // [0, done) have run; they are removed from time to time
  std::size_t done = 0;
  std::uint64_t issued = 0, executed = 0;
  clock known;                     // of the next task
  dynamic_array<clock> snapshots;  // [ticket - first_snapshot]: the clock of that task
  std::uint64_t first_snapshot = 1;
  dynamic_array<stamp> waits;  // for the next task
};

/// An access of a task to bytes, kept while later accesses may race with it.
struct access_record {
  std::byte const *first = nullptr, *last = nullptr;
  bool writes = false;
  stamp by;
  short step = -1;
  std::string_view name;
  device where{};
  /// means: both accesses have a byte in common, and one of them writes
  bool conflicts(touched const& t) const {
    auto const* const begin = static_cast<std::byte const*>(t.first);
    return begin < last && first < begin + t.bytes && (writes || t.writes);
  }
};

/// The exception of a kernel, kept until its issuing thread waits, and the tasks that depend on the
/// kernel: later tasks of that thread in its queue, tasks that wait for these, and so on.
struct failure {
  std::exception_ptr what;
  unsigned issuer = 0;
  std::uint64_t from[most_queues]{};  // in each queue, the first ticket that depends on it; 0: none

  void reaches(short q, std::uint64_t ticket) {
    if (from[q] == 0 || ticket < from[q]) from[q] = ticket;
  }
  bool has_reached(stamp s) const { return from[s.queue] != 0 && from[s.queue] <= s.ticket; }
  /// means: t depends on the failed task; tasks that depend on t do then, too
  bool takes_in(short q, task const& t) {
    bool depends = has_reached({q, t.ticket});
    for (stamp const& s : t.waits) depends = depends || has_reached(s);
    if (depends) reaches(q, t.ticket);
    return depends;
  }
};

/// The sizes of the lists of late queues: tests check that they do not grow.
struct kept_work {
  std::size_t tasks = 0, points = 0, accesses = 0;
};

/// means: the lock of late queues. Kernels run while a thread holds the lock. A thread that holds
///        the lock and asks for it is inside a functor that uses locus, or that ends the program.
/// fails: bad_access, in a thread that holds it
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

}  // namespace locus::simulated

LOCUS_COLD_END
