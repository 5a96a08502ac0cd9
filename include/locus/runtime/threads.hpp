// SPDX-License-Identifier: Apache-2.0
// The host's threads: OpenMP's where the unit is compiled with it, otherwise a pool of ours.
#pragma once
#include <cstdlib>    // getenv
#include <exception>  // exception_ptr
#include <unistd.h>   // sysconf

#include <locus/core/config.hpp>    // LOCUS_MODE, LOCUS_OPENMP
#include <locus/core/error.hpp>     // configuration_error
#include <locus/core/lock.hpp>      // mutex
#include <locus/runtime/table.hpp>  // running_scope

#if LOCUS_OPENMP
#include <omp.h>
#endif

namespace locus {

namespace runtime {

/// 0: LOCUS_NUM_THREADS, else OpenMP's number, else one for each processor
inline constinit int thread_limit = 0;

inline int default_threads() {
  static int const n = [] {
    char const* const v = std::getenv("LOCUS_NUM_THREADS");
    int const wanted = v ? std::atoi(v) : 0;
    return wanted > 0 ? wanted : 0;
  }();
  return n;
}

/// What a parallel loop hands to a thread: body(context, task) for tasks until none are left.
struct parallel_job {
  void (*body)(void const*, int) = nullptr;
  void const* context = nullptr;
  int tasks = 0;
  int next = 0;  // the next task; taken with an atomic increment
  int busy = 0;  // workers that have not finished
  step_record const* record = nullptr;
  std::exception_ptr failure;
  mutex failure_lock;

  void work() noexcept {
    running_scope scope(record);
    for (int i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < tasks;) try {
        body(context, i);
      } catch (...) {
        lock_guard hold(failure_lock);
        if (!failure) failure = std::current_exception();
        __atomic_store_n(&next, tasks, __ATOMIC_RELAXED);
      }
  }
};

/// Threads that sleep until a loop needs them. Never ended: they own nothing and end with the
/// process.
class thread_pool {
 public:
  static thread_pool& instance() {
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
      job_ = &job, ++generation_, wanted_ = job.busy;
      pthread_cond_broadcast(&wake_);
    }
    job.work();
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
      seen = generation_, --wanted_;
      parallel_job* const job = job_;
      lock_.unlock();
      job->work();
      lock_.lock();
      if (--job->busy == 0) pthread_cond_signal(&done_);
    }
  }
  mutex user_, lock_;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER, done_ = PTHREAD_COND_INITIALIZER;
  parallel_job* job_ = nullptr;
  int workers_ = 0, wanted_ = 0;
  unsigned generation_ = 0;
};

}  // namespace runtime

inline namespace LOCUS_MODE {

/// means: the number of threads that a loop may use
inline int thread_count() {
  if (runtime::thread_limit > 0) return runtime::thread_limit;
  if (int const n = runtime::default_threads(); n > 0) return n;
#if LOCUS_OPENMP
  return omp_get_max_threads();
#else
  static int const processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return processors > 0 ? processors : 1;
#endif
}

/// means: body(i) for i in [0, tasks), on at most `threads` threads, in any order
/// fails: with the first exception that a task threw, after all threads have stopped
template <class Body>
void parallel_for(int tasks, int threads, Body const& body) {
  if (threads > tasks) threads = tasks;
  runtime::parallel_job job;
  job.body = [](void const* context, int i) { (*static_cast<Body const*>(context))(i); };
  job.context = &body, job.tasks = tasks, job.record = runtime::running;
  bool done = false;
  if (threads > 1) {
#if LOCUS_OPENMP
    if (!omp_in_parallel()) {
#pragma omp parallel num_threads(threads)
      job.work();
      done = true;
    }
#else
    done = runtime::thread_pool::instance().run(job, threads);
#endif
  }
  if (!done) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace LOCUS_MODE

namespace config {
/// means: loops on the host use at most n threads; 0: the default
/// fails: configuration_error for a negative number
inline void set_intra_op_parallelism_threads(int n) {
  if (n < 0)
    throw configuration_error("locus: the number of threads is negative; write 0 for the default");
  runtime::thread_limit = n;
}
inline int get_intra_op_parallelism_threads() { return runtime::thread_limit; }
}  // namespace config

}  // namespace locus
