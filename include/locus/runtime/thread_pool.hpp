// SPDX-License-Identifier: Apache-2.0
// The host's own threads: one pool for each process, whatever flags its units are compiled with.
// Workers look out for the next loop for a short while and then sleep; who starts a loop waits for
// nobody who has not come, and for nobody whom the system has put aside without sleeping itself.
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

/// means: a moment of waiting beside another thread of the same core
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

/// What a parallel loop hands to its threads: body(context, task). Thread k of a team takes the k-th
/// part of the tasks, so that the same loop finds its data in the same cache again, and then what the
/// others have left of theirs.
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
  counter taken[max_team];  // of each part; the first `team` are set

  void start(int threads);
  void work(int me) noexcept;

 private:
  void run(int task) noexcept;
};

/// this thread runs tasks of the loop in that slot; -1: of none
LOCUS_SHARED_STATE inline thread_local constinit int loop_of_thread = -1;

/// Never ended: workers own nothing and end with the process. Worker w takes part w of each loop that
/// it is called to. The loops of several threads of the program share the workers.
class thread_pool {
 public:
  // units: nanoseconds
  static constexpr std::int64_t longest_spin = 200'000, shortest_spin = 4'000;
  static constexpr std::int64_t patience_of_caller = 50'000;
  static constexpr std::int64_t put_aside = 300'000;  // so long between two looks: by the system
  static constexpr std::int64_t crowded_for = 20'000'000;  // since that was last seen
  static constexpr std::int64_t train = 1'000'000;         // loops that follow each other within it

  LOCUS_SHARED_STATE static thread_pool& instance() {
    static thread_pool* const pool = new thread_pool;
    return *pool;
  }

  /// means: the caller's thread is in a parallel region of the program's own
  bool in_openmp_region() const { return in_region_ && in_region_() != 0; }

  /// means: how many of the wanted threads pay for so many nanoseconds of work: those that look out
  ///        for work, or so many that each has what it costs to wake one
  /// awake, asleep: what a thread must have to do     units: nanoseconds
  /// cost:  reads the clock where threads would have to be woken
  int worth(float work, int wanted, float asleep);

  /// means: the loop has run, on this thread and on workers that came
  /// false: this thread is in a loop already, or too many loops run: run it alone
  bool run(parallel_job& job);

 private:
  static constexpr int slots = 32, open = 1 << 30, waiting = 1 << 29, members = waiting - 1;

  /// One loop that runs. state: whether workers may come, whether its caller sleeps, how many came
  struct alignas(64) slot {
    int owned = 0, state = 0;
    parallel_job* job = nullptr;
  };
  /// Where a worker is called. word: 0: it looks out, -1: it sleeps, else slot + 1 and part
  struct alignas(64) desk {
    int word = 0;
    std::int64_t patience = longest_spin;
    long seen_aside = 0;
  };

  thread_pool();
  /// in the child of a fork, which has one thread: that of the loop which forked, or of none
  void forget_workers();

  bool is_crowded(std::int64_t now) const {
    return now < __atomic_load_n(&crowded_until_, __ATOMIC_RELAXED);
  }
  /// means: a thread was put aside. Once is an accident: the host took the processor away. Twice
  ///        within 20 ms is a crowd.
  void note_crowd(std::int64_t now);

  // ---- the caller ----
  int take_slot();
  void start(int workers);
  /// true: the worker comes
  static bool call(desk& d, int slot, int part);
  /// means: nobody comes any more, and those who came have ended
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
  int of_short_loops_ = 0;  // nanoseconds of work
  std::int64_t last_short_loop_ = 0, last_put_aside_ = -crowded_for, crowded_until_ = 0;
  slot slots_[slots];
  desk desks_[parallel_job::max_team];
};

}  // namespace locus::runtime
LOCUS_LEAN_END

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/thread_pool.hpp>  // bodies of the functions above
#endif
