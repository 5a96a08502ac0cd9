// SPDX-License-Identifier: Apache-2.0
// The threads of the host: one pool for each process, for units with any flags. Workers poll for
// the next loop for a short time and then sleep. The caller of a loop waits only for workers that
// joined the loop; if the system preempts one of them, the caller sleeps too.
#pragma once
#include <exception>      // exception_ptr
#include <linux/futex.h>  // FUTEX_WAIT_PRIVATE
#include <sys/syscall.h>  // SYS_futex
#include <unistd.h>       // syscall

#include <locus/core/lock.hpp>             // mutex
#include <locus/core/macros.hpp>           // LOCUS_SHARED_STATE, LOCUS_LEAN_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/device_table.hpp>  // step_record

LOCUS_LEAN_BEGIN
namespace locus::runtime {

/// means: a short pause for the other hardware thread of the core
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");
#else
  asm volatile("" : : : "memory");
#endif
}
/// means: sleeps while *word is `value`; may return early
inline void sleep_while(int const* word, int value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
inline void wake_sleeper(int const* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// A parallel loop: body(context, task). Thread k of a team first takes the k-th part of the tasks,
/// so that the same loop finds its data in the same cache again, and then tasks that other threads
/// have left.
struct parallel_job {
  static constexpr int max_team = 256;
  struct alignas(64) counter {
    int value;
  };
  void (*body)(void const*, int) = nullptr;
  void const* context = nullptr;
  int tasks = 0, team = 1;
  bool failed = false;
  step_record const* record = nullptr;
  std::exception_ptr failure;
  mutex failure_lock;
  counter taken[max_team];  // tasks taken of each part; the first `team` are used

  void start(int threads);
  void work(int me) noexcept;

 private:
  void run(int task) noexcept;
};

/// the slot of the loop whose tasks this thread runs; -1: none
LOCUS_SHARED_STATE inline thread_local constinit int loop_of_thread = -1;

/// Never destroyed: workers own nothing and end with the process. Worker w takes part w of each
/// loop that calls the worker and has so many parts. Loops of several threads of the program share
/// the workers.
class thread_pool {
 public:
  // units: nanoseconds
  static constexpr std::int64_t longest_spin = 200'000, shortest_spin = 4'000;
  static constexpr std::int64_t patience_of_caller = 50'000;
  static constexpr std::int64_t put_aside = 300'000;       // a longer gap of polls means preemption
  static constexpr std::int64_t crowded_for = 20'000'000;  // two preemptions within it: crowded
  static constexpr std::int64_t train = 1'000'000;         // short loops within it are a series

  LOCUS_SHARED_STATE static thread_pool& instance() {
    static thread_pool* const pool = new thread_pool;
    return *pool;
  }

  /// means: the caller's thread is in a parallel region of the program's own
  bool in_openmp_region() const { return in_region_ && in_region_() != 0; }

  /// means: how many of the wanted threads are worth their cost for that many nanoseconds of work:
  ///        the threads that poll already, or as many threads as get `asleep` of work each
  /// asleep: the least work that pays for waking a thread     units: nanoseconds
  /// cost:  reads the clock if threads would have to be woken
  int worth(float work, int wanted, float asleep);

  /// means: runs the loop on this thread and on workers that join
  /// false: this thread runs a loop already, or too many loops run: the caller must run it alone
  bool run(parallel_job& job);

 private:
  static constexpr int most_loops = 32, open = 1 << 30, waiting = 1 << 29, members = waiting - 1;

  /// One running loop. state: whether workers may join, whether its caller sleeps, how many joined
  struct alignas(64) slot {
    int owned = 0, state = 0;
    int processor = 0;  // that of the caller
    parallel_job* job = nullptr;
  };
  /// The mailbox of a worker. word: 0: it polls, -1: it sleeps, else slot + 1 and part
  struct alignas(64) desk {
    int word = 0;
    std::int64_t patience = longest_spin;
    long seen_aside = 0;
  };

  thread_pool();
  /// in the child of a fork, whose one thread may be inside a loop
  void forget_workers();

  bool is_crowded(std::int64_t now) const {
    return now < __atomic_load_n(&crowded_until_, __ATOMIC_RELAXED);
  }
  /// means: a thread was preempted. A single time is ignored. Twice within 20 ms means that the
  ///        machine is crowded.
  void note_crowd(std::int64_t now);

  // ---- the caller ----
  int take_slot();
  void start(int workers);
  /// true: the worker is called to this loop
  static bool call(desk& d, int slot, int part);
  /// means: lets no worker join any more, and waits for those that joined
  void close(slot& s);

  // ---- a worker ----
  static void* enter(void* at);
  [[noreturn]] void serve(desk& d);
  int wait_for_call(desk& d);
  static bool join(slot& s);
  void leave(slot& s, desk& d);

  int (*in_region_)() = nullptr;
  mutex starting_;
  int workers_ = 0;
  alignas(64) int awake_ = 0;
  int of_short_loops_ = 0;  // of short loops, in nanoseconds of work
  std::int64_t last_short_loop_ = 0, last_put_aside_ = -crowded_for, crowded_until_ = 0;
  slot slots_[most_loops];
  desk desks_[parallel_job::max_team];
};

}  // namespace locus::runtime
LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/thread_pool.hpp>  // bodies of the functions above
#endif
