// SPDX-License-Identifier: Apache-2.0
// The threads of host loops: those of locus' pool; OpenMP's on request (LOCUS_THREADS=openmp). A
// loop inside a parallel region of the program runs on the calling thread alone.
#pragma once
#include <cstdint>    // int64_t
#include <cstdlib>    // strtol
#include <exception>  // rethrow_exception

#include <locus/core/environment.hpp>     // from_environment
#include <locus/core/macros.hpp>          // LOCUS_MODE, LOCUS_OPENMP, LOCUS_LEAN_BEGIN
#include <locus/runtime/processors.hpp>   // count_processors
#include <locus/runtime/thread_pool.hpp>  // thread_pool, parallel_job
#include <locus/runtime/variables.hpp>    // threads_said, pool_or_openmp

#if LOCUS_OPENMP
#include <omp.h>
#endif

LOCUS_LEAN_BEGIN
namespace locus {

namespace runtime {

/// 0: LOCUS_NUM_THREADS, else OMP_NUM_THREADS, else one for each processor of this process
LOCUS_SHARED_STATE inline constinit int thread_limit = 0;
inline int limit_of_threads() { return __atomic_load_n(&thread_limit, __ATOMIC_RELAXED); }

inline int default_threads() {
  static int const n = threads_said();
  return n;
}

/// The threads that run the loops of a unit.
enum class thread_choice : unsigned char { pool, openmp };
/// means: the value of LOCUS_THREADS: pool (the default) or openmp
/// fails: configuration_error for anything else
inline thread_choice find_thread_choice() {
  return pool_or_openmp() == 1 ? thread_choice::openmp : thread_choice::pool;
}
LOCUS_SHARED_STATE inline thread_choice threads_wanted() {
  static thread_choice const choice = find_thread_choice();
  return choice;
}

/// means: the first number of OMP_NUM_THREADS ("4,2" is 4), else the threads that can run at once
LOCUS_SHARED_STATE inline int threads_of_machine() {
  static int const n = [] {
    char const* const said = from_environment("OMP_NUM_THREADS");
    long const first = said ? std::strtol(said, nullptr, 10) : 0;
    return first > 0 && first <= 1 << 16 ? static_cast<int>(first) : count_processors();
  }();
  return n;
}

/// means: the threads of a loop on the pool
inline int threads_of_pool() {
  if (int const n = limit_of_threads(); n > 0) return n;
  if (int const n = default_threads(); n > 0) return n;
  return threads_of_machine();
}

// The least work of a thread that pays for using it. units: nanoseconds
inline constexpr float worth_if_awake = 5000, worth_waking = 120000;

/// means: the number of threads of the pool for a loop that takes `work` nanoseconds on one thread
/// cost:  none if one thread is enough
inline int pool_threads_worth(float work) {
  float const worth = work / worth_if_awake;
  if (worth < 2) return 1;
  int const all = threads_wanted() == thread_choice::pool ? threads_of_pool() : 1;
  if (all == 1) return 1;
  int const wanted = worth < static_cast<float>(all) ? static_cast<int>(worth) : all;
  return thread_pool::instance().worth(work, wanted, worth_waking);
}

}  // namespace runtime

inline namespace LOCUS_MODE {

/// means: loops of this unit run on OpenMP's threads: it has OpenMP, and LOCUS_THREADS=openmp
inline bool runs_on_openmp() {
#if LOCUS_OPENMP
  return runtime::threads_wanted() == runtime::thread_choice::openmp;
#else
  return false;
#endif
}

/// means: the number of threads that a loop may use
inline int thread_count() {
#if LOCUS_OPENMP
  if (runs_on_openmp() && runtime::limit_of_threads() <= 0 && runtime::default_threads() <= 0)
    return omp_get_max_threads();
#endif
  return runtime::threads_of_pool();
}

inline constexpr float worth_a_woken_thread = runtime::worth_if_awake;  // nanoseconds

/// means: the number of threads for a loop that takes `work` nanoseconds on one thread
/// after: OMP_WAIT_POLICY of OpenMP 4.0 for OpenMP's threads: passive ones sleep between loops,
///        others poll for the next one. The pool knows which of its threads poll.
inline int threads_worth(float work) {
  if (work < 2 * worth_a_woken_thread) return 1;
#if LOCUS_OPENMP
  if (runs_on_openmp()) {
    static bool const sleep = [] {
      char const* const policy = from_environment("OMP_WAIT_POLICY");
      return policy && (*policy == 'p' || *policy == 'P');
    }();
    float const worth = work / (sleep ? runtime::worth_waking : worth_a_woken_thread);
    int const all = thread_count();
    return worth < 2 ? 1 : worth < static_cast<float>(all) ? static_cast<int>(worth) : all;
  }
#endif
  return runtime::pool_threads_worth(work);
}

/// means: the caller is in a parallel region of the program, whose threads are busy
inline bool in_parallel_region() {
#if LOCUS_OPENMP
  return omp_in_parallel();
#else
  return runtime::thread_pool::instance().in_openmp_region();
#endif
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
  bool done = !in_parallel_region();
#if LOCUS_OPENMP
  if (done && runs_on_openmp()) {
#pragma omp parallel num_threads(threads)
    job.work(omp_get_thread_num() % threads);
  } else
#endif
    done = done && runtime::thread_pool::instance().run(job);
  if (!done) {
    for (int i = 0; i < tasks; ++i) body(i);
    return;
  }
  if (job.failure) std::rethrow_exception(job.failure);
}
/// means: body(first, end) for ranges that hold the tasks 0 ... tasks - 1, each task once; tasks may be
///        more than an int counts
/// cost:  a range has `least` tasks or more, where they are enough; 64 ranges a thread are the most
template <class Body>
void parallel_ranges(std::int64_t tasks, std::int64_t least, int threads, Body const& body) {
  std::int64_t const most = 64 * std::int64_t(threads > 1 ? threads : 1),
                     even = (tasks + most - 1) / most, each = least < even ? even : least;
  parallel_for(static_cast<int>((tasks + each - 1) / each), threads, [&](int range) {
    std::int64_t const first = range * each;
    body(first, first + each < tasks ? first + each : tasks);
  });
}
/// means: as above, for tasks that may be more than an int counts
template <class Body>
void parallel_for(std::int64_t tasks, int threads, Body const& body) {
  parallel_ranges(tasks, 1, threads, [&](std::int64_t first, std::int64_t end) {
    for (; first < end; ++first) body(first);
  });
}

}  // namespace LOCUS_MODE

}  // namespace locus
LOCUS_LEAN_END
