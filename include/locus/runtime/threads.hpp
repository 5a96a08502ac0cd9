// SPDX-License-Identifier: Apache-2.0
// The host's threads: OpenMP's where the unit is compiled with it, otherwise a pool of ours.
#pragma once
#include <cstdlib>    // strtol
#include <exception>  // exception_ptr
#include <unistd.h>   // sysconf

#include <locus/core/config.hpp>       // LOCUS_MODE, LOCUS_OPENMP, LOCUS_LEAN_BEGIN
#include <locus/core/environment.hpp>  // from_environment
#include <locus/core/error.hpp>        // configuration_error
#include <locus/core/lock.hpp>         // mutex
#include <locus/runtime/table.hpp>     // running_scope

#if LOCUS_OPENMP
#include <omp.h>
#endif

LOCUS_LEAN_BEGIN
namespace locus {

namespace runtime {

/// means: a number that an environment variable gives; `otherwise` where it is not set or empty
/// fails: configuration_error, naming variable and value, for anything but a number in [low, high]
inline int number_from_environment(char const* variable, int low, int high, int otherwise) {
  char const* const v = from_environment(variable);
  if (!v || !*v) return otherwise;
  char* end = nullptr;
  long const n = std::strtol(v, &end, 10);
  if (*end == '\0' && n >= low && n <= high) return static_cast<int>(n);
  message text;
  throw configuration_error(text << "locus: " << std::string_view(variable) << " is \""
                                 << shown(v).view() << "\"; write a number from " << low << " to "
                                 << high);
}

/// 0: LOCUS_NUM_THREADS, else OpenMP's number, else one for each processor
LOCUS_SHARED_STATE inline constinit int thread_limit = 0;
inline int limit_of_threads() { return __atomic_load_n(&thread_limit, __ATOMIC_RELAXED); }

inline int default_threads() {
  static int const n = number_from_environment("LOCUS_NUM_THREADS", 0, 1 << 16, 0);
  return n;
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
  int tasks = 0;
  int busy = 0;  // workers that have not finished
  bool failed = false;
  step_record const* record = nullptr;
  std::exception_ptr failure;
  mutex failure_lock;
  counter taken[max_team];  // of each part; the first `team` are set

  void start(int team) {
    for (int k = 0; k < team; ++k) taken[k].value = 0;
  }
  void work(int me, int team) noexcept {
    running_scope scope(record);
    auto begin = [&](int part) { return static_cast<int>(std::int64_t(tasks) * part / team); };
    for (int k = 0; k < team; ++k) {
      int const part = (me + k) % team, end = begin(part + 1);
      for (int i;
           (i = begin(part) + __atomic_fetch_add(&taken[part].value, 1, __ATOMIC_RELAXED)) < end;) {
        if (__atomic_load_n(&failed, __ATOMIC_RELAXED)) return;
        run(i);
      }
    }
  }

 private:
  void run(int task) noexcept try { body(context, task); } catch (...) {
    lock_guard hold(failure_lock);
    if (!failure) failure = std::current_exception();
    __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  }
};

/// Threads that sleep until a loop needs them. Never ended: they own nothing and end with the
/// process.
class thread_pool {
 public:
  LOCUS_SHARED_STATE static thread_pool& instance() {
    static thread_pool* const pool = new thread_pool;
    return *pool;
  }
  /// false: the pool serves another loop (of another thread, or around this one); run it alone
  bool run(parallel_job& job, int threads) {
    if (pthread_mutex_trylock(user_.native()) != 0) return false;
    start(threads - 1);
    {
      lock_guard hold(lock_);
      job.busy = workers_ < threads - 1 ? workers_ : threads - 1;
      job_ = &job, ++generation_, wanted_ = job.busy, team_ = job.busy + 1;
      pthread_cond_broadcast(&wake_);
    }
    job.work(0, team_);
    lock_.lock();
    while (job.busy > 0) pthread_cond_wait(&done_, lock_.native());
    job_ = nullptr;
    lock_.unlock();
    user_.unlock();
    return true;
  }

 private:
  void start(int workers) {
    while (workers_ < workers) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, &thread_pool::entry, this) != 0) return;
      pthread_detach(thread);
      ++workers_;
    }
  }
  static void* entry(void* self) {
    static_cast<thread_pool*>(self)->serve();
    return nullptr;
  }
  void serve() {
    unsigned seen = 0;
    lock_.lock();
    for (;;) {
      while (generation_ == seen || wanted_ == 0 || !job_) {
        if (wanted_ == 0) seen = generation_;
        pthread_cond_wait(&wake_, lock_.native());
      }
      seen = generation_;
      int const me = wanted_--;
      parallel_job* const job = job_;
      lock_.unlock();
      job->work(me, team_);
      lock_.lock();
      if (--job->busy == 0) pthread_cond_signal(&done_);
    }
  }
  mutex user_, lock_;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER, done_ = PTHREAD_COND_INITIALIZER;
  parallel_job* job_ = nullptr;
  int workers_ = 0, wanted_ = 0, team_ = 1;
  unsigned generation_ = 0;
};

}  // namespace runtime

inline namespace LOCUS_MODE {

/// means: the number of threads that a loop may use
inline int thread_count() {
  if (int const n = runtime::limit_of_threads(); n > 0) return n;
  if (int const n = runtime::default_threads(); n > 0) return n;
#if LOCUS_OPENMP
  return omp_get_max_threads();
#else
  static int const processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return processors > 0 ? processors : 1;
#endif
}

inline constexpr float worth_a_woken_thread = 5000;  // nanoseconds
/// means: what a thread must have to do, so that waking it pays     units: nanoseconds
/// after: OMP_WAIT_POLICY of OpenMP 4.0: threads that are passive sleep between two loops, as those of
///        our own pool do; others still look out for work when the next loop comes
inline float worth_a_thread() {
#if LOCUS_OPENMP
  static bool const sleep = [] {
    char const* const policy = std::getenv("OMP_WAIT_POLICY");
    return policy && (*policy == 'p' || *policy == 'P');
  }();
#else
  constexpr bool sleep = true;
#endif
  return sleep ? 120000.f : worth_a_woken_thread;
}
/// means: threads for so much work of one thread: one for each worth_a_thread()
inline int threads_worth(float nanoseconds) {
  float const worth = nanoseconds / worth_a_thread();
  if (worth < 2) return 1;
  int const all = thread_count();
  return worth < static_cast<float>(all) ? static_cast<int>(worth) : all;
}

/// means: body(i) for i in [0, tasks), on at most `threads` threads, in any order
/// fails: with the first exception that a task threw, after all threads have stopped
template <class Body>
void parallel_for(int tasks, int threads, Body const& body) {
  if (threads > tasks) threads = tasks;
  if (threads > runtime::parallel_job::max_team) threads = runtime::parallel_job::max_team;
  if (threads <= 1) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  runtime::parallel_job job;
  job.start(threads);
  job.body = [](void const* context, int i) { (*static_cast<Body const*>(context))(i); };
  job.context = &body, job.tasks = tasks, job.record = runtime::running;
#if LOCUS_OPENMP
  bool const done = !omp_in_parallel();
  if (done) {
#pragma omp parallel num_threads(threads)
    job.work(omp_get_thread_num(), omp_get_num_threads());
  }
#else
  bool const done = runtime::thread_pool::instance().run(job, threads);
#endif
  if (!done) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace LOCUS_MODE

}  // namespace locus
LOCUS_LEAN_END
