// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/communicators.hpp declares.
#pragma once
#include <ctime>     // clock_gettime
#include <unistd.h>  // usleep

#include <locus/backend/cuda/streams.hpp>       // cuda_queue_of
#include <locus/collective/communicators.hpp>   // the declarations
#include <locus/collective/error.hpp>           // collective_error
#include <locus/collective/rank_functions.hpp>  // share_from_first
#include <locus/core/clock.hpp>                 // seconds_now
#include <locus/core/macros.hpp>                // LOCUS_FUNCTION, LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::detail {

LOCUS_FUNCTION void* stream_of(logical_device& d, queue_kind queue) {
  return d.is_simulated() ? simulated::nccl_stream(d, queue)
                          : runtime::cuda_queue_of(d, queue).stream;
}

LOCUS_FUNCTION nccl_card_scope::nccl_card_scope(logical_device const& d)
    : card_scope(d.is_card() ? d.card : -1) {
  if (d.is_simulated()) simulated::nccl_card = d.card;
}

LOCUS_FUNCTION void communicator_set::give_up(collective_name const& name, int rank,
                                              std::string_view cause, int code, double seconds,
                                              std::string_view more, bool tell_others) {
  lock_guard hold(words_);  // rethrow() waits until the communicators are ended
  if (is_broken()) return;
  write(name, rank, cause, code, seconds, more);
  failed_ = {name, rank, seconds, tell_others};
  if (tell_others) __atomic_store_n(&any_untold(), true, __ATOMIC_RELEASE);
  __atomic_store_n(&broken, true, __ATOMIC_RELEASE);
  end(false);
}

LOCUS_FUNCTION void communicator_set::fail(collective_name const& name, int rank,
                                           std::string_view cause, int code, double seconds,
                                           std::string_view more) {
  give_up(name, rank, cause, code, seconds, more);
  rethrow();
}

LOCUS_FUNCTION std::string_view communicator_set::text_of_error() const {
  char const* const text = api->last_error(nullptr);
  return text ? std::string_view(text) : std::string_view();
}

LOCUS_FUNCTION void communicator_set::require_usable(collective_name const& name) {
  if (!is_broken()) return;
  tell();
  message text;
  text << "locus: " << name.operation << " over";
  for (int p = 0; p < ranks; ++p) text << " " << list[p];
  if (__atomic_load_n(&retired, __ATOMIC_ACQUIRE))
    text << " did not run: other communicators took the place of those that it had; run it again";
  else
    text << " cannot run: its communicators failed before; "
         << (joins_processes() ? "end this program, and start it again from its checkpoint"
                               : "call collective::rebuild<Devices>()")
         << ". It was: " << why_.view();
  throw collective_error(text, name.operation, name.bucket, -1, 0);
}

LOCUS_FUNCTION void communicator_set::tell() {
  {
    lock_guard hold(words_);
    if (!std::exchange(failed_.untold, false)) return;
  }
  __atomic_store_n(&any_untold(), true, __ATOMIC_RELEASE);  // other sets may have failed, too
  rethrow();
}

LOCUS_FUNCTION void communicator_set::retire() noexcept {
  lock_guard hold(words_);
  bool const in_order = !is_broken();
  __atomic_store_n(&retired, true, __ATOMIC_RELEASE);
  __atomic_store_n(&broken, true, __ATOMIC_RELEASE);
  end(in_order);
}

LOCUS_FUNCTION void communicator_set::end(bool in_order) noexcept {
  if (ranks == 0) return;
  nccl_card_scope const scope(*on[0]);
  for (int p = 0; p < ranks; ++p)
    if (void* const c = __atomic_exchange_n(&comm[p], nullptr, __ATOMIC_ACQ_REL); c && owned)
      in_order ? api->destroy(c) : api->abort(c);
  __atomic_store_n(&ready, false, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void communicator_set::settle(collective_name const& name, double deadline) {
  constexpr double brief = 0.0002;  // a guess: NCCL takes a short group before a sleep would end
  double const begin = seconds_now();
  for (int p = 0; p < ranks; ++p)
    for (;; seconds_now() - begin < brief ? sched_yield() : usleep(20)) {
      int state = 0;
      if (int const code = api->async_state(comm[p], &state); code != 0)
        fail(name, p, "asking for its state failed", code, seconds_now() - begin);
      if (state == runtime::nccl_success) break;
      if (state != runtime::nccl_in_progress)
        fail(name, p, "it ended with an error", state, seconds_now() - begin);
      if (deadline > 0 && seconds_now() - begin > deadline)
        fail(name, p, "it did not come back within the timeout", 0, seconds_now() - begin);
    }
}

LOCUS_FUNCTION double communicator_set::deadline() const {
  using runtime::collective_deadlines;
  return runtime::collective_deadline(__atomic_load_n(&issued, __ATOMIC_RELAXED) <= 1
                                          ? &collective_deadlines::first
                                          : &collective_deadlines::steady);
}

LOCUS_FUNCTION void communicator_set::note_issue(collective_name const& name, double since) {
  lock_guard hold(flights_lock_);
  issuing_ = name, issuing_since_ = since;
}

LOCUS_FUNCTION void communicator_set::watch(collective_flight const& f) {
  lock_guard hold(flights_lock_);
  flights_.push(f);
}

LOCUS_FUNCTION void communicator_set::note_done(int rank, collective_flight::point const& p) {
  lock_guard hold(flights_lock_);
  if (!flights_.empty()) flights_.back().done[rank] = p;
}

LOCUS_FUNCTION double communicator_set::look(double now) {
  if (is_broken() || !__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) return patient;
  if (!use.try_lock()) return look_at_issue(now);
  struct unlock {
    mutex& m;
    ~unlock() { m.unlock(); }
  } const at_end{use};
  lock_guard hold(flights_lock_);
  std::size_t n = 0;
  while (n < flights_.size() && first_late(flights_[n]) < 0) ++n;
  flights_.drop_front(n);
  if (flights_.empty()) return patient;
  collective_flight& f = flights_[0];
  for (int p = 0; p < ranks; ++p) {
    int state = 0;
    int const code = api->async_state(comm[p], &state);
    if (code != 0 || (state != 0 && state != runtime::nccl_in_progress))
      return late(f, p, "it ended with an error", code ? code : state, now), patient;
  }
  if (f.deadline <= 0) return patient;
  for (int p = 0; p < ranks && f.begun == 0; ++p)
    if (seems_run(f.before[p])) f.begun = now;  // this rank waits for the others
  if (f.begun != 0 && now - f.begun > f.deadline) {
    if (int const p = first_late(f); p >= 0)
      late(f, p, "it did not end within the timeout", 0, now);
  }
  return f.deadline / 16 < patient ? f.deadline / 16 : patient;
}

LOCUS_FUNCTION void communicator_set::rethrow() {
  lock_guard hold(words_);
  failed_.untold = false;
  if (joins_processes() && runtime::over_ranks) runtime::over_ranks->give_up(why_.view());
  throw collective_error(why_, failed_.name.operation, failed_.name.bucket, failed_.rank,
                         failed_.seconds);
}

LOCUS_FUNCTION void communicator_set::write(collective_name const& name, int rank,
                                            std::string_view cause, int code, double seconds,
                                            std::string_view more) {
  message& text = why_;
  text = message{};
  text << "locus: " << name.operation;
  if (name.bucket >= 0) text << " of bucket " << int(name.bucket);
  text << " over";
  for (int p = 0; p < ranks; ++p) text << " " << list[p];
  if (joins_processes()) text << " and the cards of other ranks";
  text << " failed";
  if (rank >= 0) text << " at " << list[rank];
  text << ": " << cause;
  if (code != 0) {
    text << ", NCCL: " << std::string_view(api->describe(code));
    if (more.empty()) more = text_of_error();
    if (!more.empty()) text << " (" << more << ")";
  }
  text << ", after " << std::int64_t(seconds * 1000) << " ms; ";
  if (joins_processes())
    text << "see what NCCL_DEBUG=INFO says; end this program, and start it again from its "
            "checkpoint";
  else if (owned)
    text << "its communicators were ended: see what NCCL_DEBUG=INFO says, then call "
            "collective::rebuild<Devices>()";
  else
    text << "end your communicators, make new ones and call collective::use_communicator again";
}

LOCUS_FUNCTION void communicator_set::late(collective_flight const& f, int rank,
                                           std::string_view cause, int code, double now) {
  give_up(f.name, rank, cause, code, f.begun != 0 ? now - f.begun : 0, {}, true);
  flights_.clear();
}

LOCUS_FUNCTION double communicator_set::look_at_issue(double now) {
  lock_guard hold(flights_lock_);  // note_issue() of the thread waits for this lock
  double const limit = deadline(), since = issuing_since_;
  if (since == 0 || limit <= 0) return patient;
  if (now - since > limit)
    give_up(issuing_, -1, "NCCL did not take it within the timeout", 0, now - since);
  return limit / 16 < patient ? limit / 16 : patient;
}

LOCUS_FUNCTION int communicator_set::first_late(collective_flight const& f) const {
  for (int p = 0; p < ranks; ++p)
    if (!seems_run(f.done[p])) return p;
  return -1;
}

LOCUS_FUNCTION bool communicator_set::seems_run(collective_flight::point const& of) {
  if (!of.when.is_set()) return false;
  if (!of.event) return true;  // it was reached when it was marked
  runtime::card_scope const scope(runtime::table.gpu_of_queue(of.when.queue).card);
  runtime::cuda_queue& q = runtime::cuda_queue_of(of.when);
  if (q.marking.try_lock()) {
    bool const is_old = !q.find(of.when.ticket);
    q.marking.unlock();
    if (is_old) return true;
  }
  bool reached = true;
  return runtime::gpu_api->event_query(of.event, &reached) != 0 || reached;
}

LOCUS_FUNCTION communicator_set* communicator_registry::find(device_list const& list) {
  for (communicator_set* s : sets)
    if (s->list == list) return s;
  return nullptr;
}

LOCUS_FUNCTION communicator_set* communicator_registry::number(std::size_t i) {
  lock_guard hold(lock);
  if (i < sets.size()) return sets[i];
  return i - sets.size() < retired.size() ? retired[i - sets.size()] : nullptr;
}

LOCUS_FUNCTION void communicator_registry::remove(device_list const& list) {
  communicator_set* s = nullptr;
  {
    lock_guard hold(lock);
    s = find(list);
  }
  if (!s) return;
  lock_guard using_it(s->use);
  s->retire();
  lock_guard hold(lock);
  for (std::size_t i = sets.size(); i-- > 0;)
    if (sets[i] == s) retired.push(s), sets.remove(i);
  // a thread that reports the failures of all sets may have missed this set
  __atomic_store_n(&communicator_set::any_untold(), true, __ATOMIC_RELEASE);
}

LOCUS_FUNCTION void communicator_registry::forget() noexcept {
  lock_guard waiting(making);
  lock_guard watching(looking);
  lock_guard hold(lock);
  for (dynamic_array<communicator_set*>* all : {&sets, &retired}) {
    for (communicator_set* s : *all) {
      s->end(!s->is_broken());
      delete s;
    }
    all->clear();
  }
  for (stamp& s : last_on_card) s = {};
}

LOCUS_FUNCTION void communicator_registry::forget_ranks() noexcept {
  lock_guard waiting(making);
  lock_guard watching(looking);
  lock_guard hold(lock);
  for (dynamic_array<communicator_set*>* all : {&sets, &retired})
    for (std::size_t i = all->size(); i-- > 0;) {
      communicator_set* const s = (*all)[i];
      if (!s->joins_processes()) continue;
      s->end(!s->is_broken());
      delete s;
      all->remove(i);
    }
}

LOCUS_FUNCTION void report_collectives() {
  if (std::uncaught_exceptions() > 0) return;
  if (!__atomic_load_n(&communicator_set::any_untold(), __ATOMIC_ACQUIRE)) return;
  __atomic_store_n(&communicator_set::any_untold(), false, __ATOMIC_RELEASE);
  communicator_registry& all = communicators();
  for (std::size_t i = 0; communicator_set* const s = all.number(i); ++i) s->tell();
}

LOCUS_FUNCTION collective_watch::collective_watch() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&something_, &attributes);
  pthread_condattr_destroy(&attributes);
  sigset_t all, before;
  sigfillset(&all);  // signals are the program's
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  auto const body = [](void* me) -> void* {
    for (auto* const w = static_cast<collective_watch*>(me);;) w->wait(w->look());
  };
  if (pthread_create(&thread, nullptr, body, this) == 0) {
    pthread_detach(thread);
  } else {
    log_line line;
    runtime::warn(line << "locus: no thread could be made that watches collectives: they have no "
                          "deadline");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LOCUS_FUNCTION double collective_watch::look() {
  communicator_registry& all = communicators();
  lock_guard watching(all.looking);
  double next = communicator_set::patient;
  for (std::size_t i = 0; communicator_set* const s = all.number(i); ++i) {
    double const theirs = s->look(seconds_now());
    if (theirs < next) next = theirs;
  }
  return next > 0.001 ? next : 0.001;
}

LOCUS_FUNCTION void collective_watch::wait(double seconds) {
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += static_cast<long>(seconds * 1e9);
  until.tv_sec += until.tv_nsec / 1'000'000'000, until.tv_nsec %= 1'000'000'000;
  lock_guard hold(lock_);
  if (!std::exchange(woken_, false)) pthread_cond_timedwait(&something_, lock_.native(), &until);
  woken_ = false;
}

LOCUS_FUNCTION void collective_watch::look_soon() {
  lock_guard hold(lock_);
  woken_ = true;
  pthread_cond_signal(&something_);
}

LOCUS_FUNCTION communicator_set* empty_set(replica_topology const& t,
                                           runtime::nccl_api const* api) {
  auto* const s = new communicator_set;
  s->list = t.representatives(), s->ranks = s->all = t.ranks, s->api = api;
  if (t.has_nccl_among_ranks()) s->before = t.numbers.before, s->all = t.numbers.all;
  for (int p = 0; p < t.ranks; ++p) s->on[p] = t.on[t.first[p]];
  runtime::forget_communicators = [] { communicators().forget(); };
  runtime::collective_report = report_collectives;
  return s;
}

LOCUS_FUNCTION void init_communicators(communicator_set& s) {
  collective_name const name{"making communicators", -1};
  lock_guard hold(runtime::issue_lock);
  lock_guard using_it(s.use);
  nccl_card_scope const scope(*s.on[0]);
  bool const is_cuda = s.on[0]->is_card();
  if (is_cuda) warn_of_blocking();
  bool const had_error = is_cuda && runtime::gpu_api->peek_error() != 0;  // of the program's
  double const begin = seconds_now();
  struct {
    int code = 0;
    runtime::nccl_id id{};
  } told;  // by rank 0
  if (s.before == 0) told.code = s.api->make_id(&told.id);
  if (s.joins_processes()) internal::share_from_first("NCCL's unique id", &told, sizeof told);
  if (told.code != 0) s.fail(name, -1, "there is no unique id", told.code, seconds_now() - begin);
  if (int const code = s.api->group_start(); code != 0)
    s.fail(name, -1, "a group cannot begin", code, seconds_now() - begin);
  int wrong = 0, at = -1;
  message why;
  for (int p = 0; p < s.ranks && wrong == 0; ++p) {
    nccl_card_scope const card(*s.on[p]);
    wrong = card.code() != 0 ? int(runtime::nccl_cuda_error)
                             : s.api->init_rank(&s.comm[p], s.all, &told.id, s.before + p);
    if (wrong == runtime::nccl_in_progress) wrong = 0;
    if (wrong != 0) at = p, why << s.text_of_error();
  }
  int const end = s.api->group_end();
  if (wrong != 0) s.fail(name, at, "a rank cannot begin", wrong, seconds_now() - begin, why.view());
  if (end != 0 && end != runtime::nccl_in_progress)
    s.fail(name, -1, "they could not be made", end, seconds_now() - begin);
  s.settle(name, runtime::collective_deadline(&runtime::collective_deadlines::init));
  if (is_cuda && !had_error) runtime::gpu_api->last_error();  // NCCL 2.28 leaves an error in CUDA
  __atomic_store_n(&s.ready, true, __ATOMIC_RELEASE);
}

}  // namespace locus::detail

LOCUS_COLD_END
