// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/thread_pool.hpp declares.
#pragma once
#include <dlfcn.h>         // dlsym
#include <sched.h>         // sched_getcpu
#include <sys/resource.h>  // getrusage

#include <locus/core/clock.hpp>           // read_clock
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_LEAN_BEGIN
#include <locus/runtime/processors.hpp>   // allowed_processors
#include <locus/runtime/signals.hpp>      // without_signals
#include <locus/runtime/thread_pool.hpp>  // the declarations

LOCUS_LEAN_BEGIN

namespace locus::runtime {

LOCUS_FUNCTION void parallel_job::start(int threads) {
  team = threads;
  for (int k = 0; k < team; ++k) taken[k].value = 0;
}

LOCUS_FUNCTION void parallel_job::work(int me) noexcept {
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

LOCUS_FUNCTION void parallel_job::run(int task) noexcept try { body(context, task); } catch (...) {
  lock_guard hold(failure_lock);
  if (!failure) failure = std::current_exception();
  __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION int thread_pool::worth(float work, int wanted, float asleep) {
  int const awake = __atomic_load_n(&awake_, __ATOMIC_RELAXED) + 1;
  std::int64_t now = 0;
  if (wanted <= awake) {
    if (__atomic_load_n(&crowded_until_, __ATOMIC_RELAXED) == 0) return wanted;
    now = read_clock();
    if (!is_crowded(now)) return wanted;
  }
  float const woken = work / asleep;
  int const pay = woken < 2 ? 1 : woken < static_cast<float>(wanted) ? int(woken) : wanted;
  if (pay == wanted) return wanted;
  if (now == 0) now = read_clock();
  if (is_crowded(now)) return pay;
  // a series of short loops: together they are worth waking workers
  std::int64_t const before = __atomic_exchange_n(&last_short_loop_, now, __ATOMIC_RELAXED);
  int const sum = now - before < train ? __atomic_load_n(&of_short_loops_, __ATOMIC_RELAXED) : 0;
  int const all = sum + static_cast<int>(work);  // each below 2 * asleep
  bool const wake = all >= static_cast<int>(2 * asleep);
  __atomic_store_n(&of_short_loops_, wake ? 0 : all, __ATOMIC_RELAXED);
  return wake ? wanted : pay > awake ? pay : awake;
}

LOCUS_FUNCTION bool thread_pool::run(parallel_job& job) {
  if (loop_of_thread >= 0) return false;
  int const mine = take_slot();
  if (mine < 0) return false;
  slot& s = slots_[mine];
  start(job.team - 1);
  s.job = &job, s.processor = sched_getcpu();
  __atomic_store_n(&s.state, open, __ATOMIC_RELEASE);
  int const all = __atomic_load_n(&workers_, __ATOMIC_ACQUIRE);
  for (int w = 1, called = 0; w <= all && called < job.team - 1; ++w)
    called += call(desks_[w], mine, w < job.team ? w : called + 1);
  loop_of_thread = mine;
  job.work(0);
  loop_of_thread = -1;
  close(s);
  __atomic_store_n(&s.owned, 0, __ATOMIC_RELEASE);
  return true;
}

LOCUS_FUNCTION thread_pool::thread_pool() {
  in_region_ = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_in_parallel"));
  pthread_atfork([] { instance().starting_.lock(); }, [] { instance().starting_.unlock(); },
                 [] { instance().forget_workers(); });
}

LOCUS_FUNCTION void thread_pool::forget_workers() {
  workers_ = 0, awake_ = 0;
  for (desk& d : desks_) d = {};
  for (int k = 0; k < most_loops; ++k)
    if (k == loop_of_thread)
      slots_[k].state &= open;
    else
      slots_[k] = {};
  starting_.unlock();
}

LOCUS_FUNCTION void thread_pool::note_crowd(std::int64_t now) {
  std::int64_t const before = __atomic_exchange_n(&last_put_aside_, now, __ATOMIC_RELAXED);
  if (now - before < crowded_for)
    __atomic_store_n(&crowded_until_, now + crowded_for, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION int thread_pool::take_slot() {
  for (int k = 0; k < most_loops; ++k) {
    int free = 0;
    if (__atomic_load_n(&slots_[k].owned, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&slots_[k].owned, &free, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      return k;
  }
  return -1;
}

LOCUS_FUNCTION void thread_pool::start(int workers) {
  if (__atomic_load_n(&workers_, __ATOMIC_ACQUIRE) >= workers) return;
  lock_guard const hold(starting_);
  cpu_set_t const allowed = allowed_processors();
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  // on all allowed processors, not only on that of the creating thread
  pthread_attr_setaffinity_np(&how, sizeof allowed, &allowed);
  without_signals const hold_back;
  while (workers_ < workers) {
    desk& d = desks_[workers_ + 1];
    pthread_t thread;
    __atomic_add_fetch(&awake_, 1, __ATOMIC_RELAXED);
    if (pthread_create(&thread, &how, &thread_pool::enter, &d) != 0) {
      __atomic_sub_fetch(&awake_, 1, __ATOMIC_RELAXED);
      break;
    }
    __atomic_add_fetch(&workers_, 1, __ATOMIC_RELEASE);
  }
  pthread_attr_destroy(&how);
}

LOCUS_FUNCTION bool thread_pool::call(desk& d, int slot, int part) {
  int const task = (slot + 1) | part << 8;
  for (int word = __atomic_load_n(&d.word, __ATOMIC_RELAXED);;) {
    if (word > 0) return (word & 255) == slot + 1;  // true if its last call was for this loop
    if (!__atomic_compare_exchange_n(&d.word, &word, task, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    if (word < 0) wake_sleeper(&d.word);
    return true;
  }
}

LOCUS_FUNCTION void thread_pool::close(slot& s) {
  int state = __atomic_and_fetch(&s.state, ~open, __ATOMIC_ACQ_REL);
  if (state == 0) return;
  std::int64_t last = read_clock();
  for (std::int64_t const end = last + (is_crowded(last) ? 0 : patience_of_caller);;) {
    for (int k = 0; k < 32; ++k, pause_briefly())
      if (__atomic_load_n(&s.state, __ATOMIC_ACQUIRE) == 0) return;
    std::int64_t const now = read_clock();
    if (now - last > put_aside) note_crowd(now);
    if (now >= end) break;
    last = now;
  }
  state = __atomic_or_fetch(&s.state, waiting, __ATOMIC_ACQ_REL);
  while (state & members) {
    sleep_while(&s.state, state);
    state = __atomic_load_n(&s.state, __ATOMIC_ACQUIRE);
  }
  __atomic_store_n(&s.state, 0, __ATOMIC_RELAXED);
}

LOCUS_FUNCTION void* thread_pool::enter(void* at) {
  instance().serve(*static_cast<desk*>(at));
  return nullptr;
}

LOCUS_FUNCTION void thread_pool::serve(desk& d) {
  for (;;) {
    int const task = wait_for_call(d), mine = (task & 255) - 1;
    slot& s = slots_[mine];
    bool const came = join(s);
    if (came) {
      // the system found no other processor: this worker runs, and would poll, in place of its caller
      if (s.processor == sched_getcpu()) note_crowd(read_clock()), d.patience = 0;
      loop_of_thread = mine;
      s.job->work((task >> 8) % s.job->team);
      loop_of_thread = -1;
    }
    __atomic_store_n(&d.word, 0, __ATOMIC_RELEASE);  // before leave(): then the caller goes on
    if (came) leave(s, d);
  }
}

LOCUS_FUNCTION int thread_pool::wait_for_call(desk& d) {
  int word = 0;
  std::int64_t const begin = read_clock(), end = begin + (is_crowded(begin) ? 0 : d.patience);
  for (std::int64_t last = begin;;) {
    for (int k = 0; k < 32; ++k, pause_briefly())
      if ((word = __atomic_load_n(&d.word, __ATOMIC_ACQUIRE)) > 0) {
        d.patience = longest_spin;
        return word;
      }
    std::int64_t const now = read_clock();
    if (now - last > put_aside) note_crowd(now);
    if (now >= end || is_crowded(now)) break;
    last = now;
  }
  __atomic_sub_fetch(&awake_, 1, __ATOMIC_RELAXED);
  word = 0;
  if (__atomic_compare_exchange_n(&d.word, &word, -1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    while ((word = __atomic_load_n(&d.word, __ATOMIC_ACQUIRE)) == -1) sleep_while(&d.word, -1);
  __atomic_add_fetch(&awake_, 1, __ATOMIC_RELAXED);
  // the longest spin, if the call came within it; otherwise half as long each time
  std::int64_t const less = d.patience / 2;
  d.patience = read_clock() - begin < longest_spin ? longest_spin
               : less > shortest_spin              ? less
                                                   : shortest_spin;
  return word;
}

LOCUS_FUNCTION bool thread_pool::join(slot& s) {
  for (int state = __atomic_load_n(&s.state, __ATOMIC_RELAXED); state & open;)
    if (__atomic_compare_exchange_n(&s.state, &state, state + 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      return true;
  return false;
}

LOCUS_FUNCTION void thread_pool::leave(slot& s, desk& d) {
  int const left = __atomic_sub_fetch(&s.state, 1, __ATOMIC_ACQ_REL);
  if (left != waiting) return;
  wake_sleeper(&s.state);
  // the caller went to sleep: did the system preempt this worker?
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  if (used.ru_nivcsw != d.seen_aside) note_crowd(read_clock());
  d.seen_aside = used.ru_nivcsw;
}

}  // namespace locus::runtime

LOCUS_LEAN_END
