// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators: one set for each list of cards, made when it is first needed, with deadlines,
// since NCCL has none. A set that failed is ended as a whole.
#pragma once
#include <csignal>    // pthread_sigmask
#include <ctime>      // clock_gettime
#include <exception>  // uncaught_exceptions
#include <pthread.h>  // pthread_create
#include <sched.h>    // sched_yield
#include <unistd.h>   // usleep
#include <utility>    // exchange

#include <locus/backend/cuda/streams.hpp>  // cuda_queue_of, cuda_event_of
#include <locus/backend/queues.hpp>        // mark, synchronize
#include <locus/collective/error.hpp>      // collective_error
#include <locus/collective/topology.hpp>   // replica_topology
#include <locus/core/clock.hpp>            // seconds_now
#include <locus/core/config.hpp>           // LOCUS_COLD_BEGIN
#include <locus/core/environment.hpp>      // from_environment
#include <locus/runtime/log.hpp>           // warn

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// the stream that NCCL is given
inline void* stream_of(logical_device& d, queue_kind queue) {
  return d.how == backing::simulated ? simulated::nccl_stream(d, queue)
                                     : runtime::cuda_queue_of(d, queue).stream;
}
/// means: NCCL makes what it makes for the card of d; NCCL itself goes back to the card that is current
///        when it is called, which must be one in use
class nccl_card_scope : public runtime::card_scope {
 public:
  explicit nccl_card_scope(logical_device const& d)
      : card_scope(d.how == backing::cuda ? d.card : -1) {
    if (d.how == backing::simulated) simulated::nccl_card = d.card;
  }
};

/// One operation, for messages.
struct collective_name {
  std::string_view operation;
  short bucket = -1;
};

/// A group that was issued, until all ranks have run it.
struct collective_flight {
  collective_name name;
  double deadline = 0;  // seconds after a rank came to it; 0: none
  double begun = 0;     // when that was seen; 0: no rank is there yet
  /// a point of a rank's queue, and the event that CUDA has for it
  struct point {
    stamp when;
    void* event = nullptr;
  };
  point before[max_devices], done[max_devices];  // [rank]; done is unset until it is marked
};

class communicator_set {
 public:
  device_list list;  // [rank]
  int ranks = 0;
  logical_device* on[max_devices]{};
  void* comm[max_devices]{};
  runtime::nccl_api const* api = nullptr;
  bool owned = true, ready = false, broken = false;
  bool retired = false;      // other communicators took their place; they are broken, too
  bool tried = false;        // they are made, and bring right sums
  std::uint64_t issued = 0;  // groups
  mutex use;                 // held while NCCL is called with these communicators

  /// means: ends all communicators, with these words; only the first failure of a set has any
  [[gnu::cold]] void give_up(collective_name const& name, int rank, std::string_view cause,
                             int code, double seconds, std::string_view more = {},
                             bool tell_others = false) {
    lock_guard hold(words_);  // who asks for the words finds the communicators ended
    if (is_broken()) return;
    write(name, rank, cause, code, seconds, more);
    failed_ = {name, rank, seconds, tell_others};
    if (tell_others) __atomic_store_n(&any_untold(), true, __ATOMIC_RELEASE);
    __atomic_store_n(&broken, true, __ATOMIC_RELEASE);
    end(false);
  }
  /// ends all communicators and says so     fails: always, with collective_error
  [[noreturn, gnu::cold]] void fail(collective_name const& name, int rank, std::string_view cause,
                                    int code, double seconds, std::string_view more = {}) {
    give_up(name, rank, cause, code, seconds, more);
    rethrow();
  }
  /// what NCCL wrote about its last failure
  std::string_view text_of_error() const {
    char const* const text = api->last_error(nullptr);
    return text ? std::string_view(text) : std::string_view();
  }
  bool is_broken() const { return __atomic_load_n(&broken, __ATOMIC_ACQUIRE); }
  /// fails: collective_error, when the set failed before or was replaced; with its first words, if nobody has heard them
  void require_usable(collective_name const& name) {
    if (!is_broken()) return;
    tell();
    message text;
    text << "locus: " << name.operation << " over";
    for (int p = 0; p < ranks; ++p) text << " " << list[p];
    if (__atomic_load_n(&retired, __ATOMIC_ACQUIRE))
      text << " did not run: other communicators took the place of those that it had; run it again";
    else
      text << " cannot run: its communicators failed before; call "
              "collective::rebuild<Devices>(). It was: "
           << why_.view();
    throw collective_error(text, name.operation, name.bucket, -1, 0);
  }
  /// fails: collective_error, for a failure that the watch saw and nobody was told
  void tell() {
    {
      lock_guard hold(words_);
      if (!std::exchange(failed_.untold, false)) return;
    }
    __atomic_store_n(&any_untold(), true, __ATOMIC_RELEASE);  // perhaps by another set, too
    rethrow();
  }
  /// means: nobody can use them any more; `use` is held
  /// after: a thread that still holds this set is told so
  void retire() noexcept {
    lock_guard hold(words_);
    bool const in_order = !is_broken();
    __atomic_store_n(&retired, true, __ATOMIC_RELEASE);
    __atomic_store_n(&broken, true, __ATOMIC_RELEASE);
    end(in_order);
  }
  /// gives communicators back; in order: what they were given has run, or will
  void end(bool in_order) noexcept {
    if (ranks == 0) return;
    nccl_card_scope const scope(*on[0]);
    for (int p = 0; p < ranks; ++p)
      if (void* const c = __atomic_exchange_n(&comm[p], nullptr, __ATOMIC_ACQ_REL); c && owned)
        in_order ? api->destroy(c) : api->abort(c);
    __atomic_store_n(&ready, false, __ATOMIC_RELEASE);
  }
  /// waits until NCCL has taken all that it was given: communicators that do not block. The watch keeps
  /// away meanwhile: ending communicators while another thread asks for their state is not allowed.
  void settle(collective_name const& name, double deadline) {
    constexpr double brief = 0.0002;  // a guess: a short group is taken before a sleep would end
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
  double deadline() const {
    using runtime::collective_deadlines;
    return runtime::collective_deadline(__atomic_load_n(&issued, __ATOMIC_RELAXED) <= 1
                                            ? &collective_deadlines::first
                                            : &collective_deadlines::steady);
  }
  /// a thread calls NCCL from now on, which may have to be ended; since 0: it is back, and the watch has
  /// ended all that it was to end
  void note_issue(collective_name const& name, double since) {
    lock_guard hold(flights_lock_);
    issuing_ = name, issuing_since_ = since;
  }
  /// a group was issued: the watch looks after it
  void watch(collective_flight const& f) {
    lock_guard hold(flights_lock_);
    flights_.push(f);
  }
  /// the last one has this point behind it
  void note_done(int rank, collective_flight::point const& p) {
    lock_guard hold(flights_lock_);
    if (!flights_.empty()) flights_.back().done[rank] = p;
  }
  /// means: looks after what is in flight; units: seconds until it should look again
  double look(double now) {
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
      if (seems_run(f.before[p])) f.begun = now;  // who is there waits for the others
    if (f.begun != 0 && now - f.begun > f.deadline) {
      if (int const p = first_late(f); p >= 0)
        late(f, p, "it did not end within the timeout", 0, now);
    }
    return f.deadline / 16 < patient ? f.deadline / 16 : patient;
  }

  static constexpr double patient = 0.5;  // seconds between two looks, at most
  /// some set has words that nobody was told
  LOCUS_SHARED_STATE static bool& any_untold() {
    static bool untold = false;
    return untold;
  }

 private:
  struct failure {
    collective_name name;
    int rank = -1;
    double seconds = 0;
    bool untold = false;
  };
  [[noreturn, gnu::cold]] void rethrow() {
    lock_guard hold(words_);
    failed_.untold = false;
    throw collective_error(why_, failed_.name.operation, failed_.name.bucket, failed_.rank,
                           failed_.seconds);
  }
  void write(collective_name const& name, int rank, std::string_view cause, int code,
             double seconds, std::string_view more) {
    message& text = why_;
    text = message{};
    text << "locus: " << name.operation;
    if (name.bucket >= 0) text << " of bucket " << int(name.bucket);
    text << " over";
    for (int p = 0; p < ranks; ++p) text << " " << list[p];
    text << " failed";
    if (rank >= 0) text << " at " << list[rank];
    text << ": " << cause;
    if (code != 0) {
      text << ", NCCL: " << std::string_view(api->describe(code));
      if (more.empty()) more = text_of_error();
      if (!more.empty()) text << " (" << more << ")";
    }
    text << ", after " << std::int64_t(seconds * 1000) << " ms; ";
    if (owned)
      text << "its communicators were ended: see what NCCL_DEBUG=INFO says, then call "
              "collective::rebuild<Devices>()";
    else
      text << "end your communicators, make new ones and call collective::use_communicator again";
  }
  void late(collective_flight const& f, int rank, std::string_view cause, int code, double now) {
    give_up(f.name, rank, cause, code, f.begun != 0 ? now - f.begun : 0, {}, true);
    flights_.clear();
  }
  /// a thread is with NCCL, perhaps for ever: ending its communicators is what brings it back
  double look_at_issue(double now) {
    lock_guard hold(flights_lock_);  // the thread does not come back meanwhile
    double const limit = deadline(), since = issuing_since_;
    if (since == 0 || limit <= 0) return patient;
    if (now - since > limit)
      give_up(issuing_, -1, "NCCL did not take it within the timeout", 0, now - since);
    return limit / 16 < patient ? limit / 16 : patient;
  }
  int first_late(collective_flight const& f) const {
    for (int p = 0; p < ranks; ++p)
      if (!seems_run(f.done[p])) return p;
    return -1;
  }
  /// means: a point of a queue was reached, as far as is seen without waiting: a thread that marks that queue may be in CUDA
  ///        for ever
  static bool seems_run(collective_flight::point const& of) {
    if (!of.when.is_set()) return false;
    if (!of.event) return true;  // it was reached before anybody could look
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
  mutex flights_lock_;
  dynamic_array<collective_flight> flights_;  // in the order of their issue
  collective_name issuing_;                   // of a thread that is with NCCL
  double issuing_since_ = 0;                  // 0: none
  mutex words_;                               // around the two below
  message why_;
  failure failed_;
};

/// Kept until the device table changes; never destroyed at exit, where NCCL may be gone.
struct communicator_registry {
  dynamic_array<communicator_set*> sets;
  dynamic_array<communicator_set*> retired;    // other threads may still hold one
  stamp last_on_card[runtime::max_logical]{};  // groups of several sets on one card take turns
  mutex lock;                                  // of the lists; never held while somebody waits
  mutex making;                                // held while communicators are made, before `lock`
  mutex looking;                               // held by the watch, before `lock`: sets stay

  communicator_set* find(device_list const& list) {
    for (communicator_set* s : sets)
      if (s->list == list) return s;
    return nullptr;
  }
  /// means: set i: the sets in use, then the replaced ones; null: there are not so many
  communicator_set* number(std::size_t i) {
    lock_guard hold(lock);
    if (i < sets.size()) return sets[i];
    return i - sets.size() < retired.size() ? retired[i - sets.size()] : nullptr;
  }
  /// means: the set of that list is no more; its communicators end when nobody calls NCCL with them
  void remove(device_list const& list) {
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
    // a thread that goes through the sets to tell their failures may have missed one of them
    __atomic_store_n(&communicator_set::any_untold(), true, __ATOMIC_RELEASE);
  }
  void forget() noexcept {
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
};
LOCUS_SHARED_STATE inline communicator_registry& communicators() {
  static communicator_registry* const r = new communicator_registry;
  return *r;
}

/// fails: collective_error, where a collective failed behind the program's back; one thread is told, unless
///        another error is on its way there, which would swallow this one
inline void report_collectives() {
  if (std::uncaught_exceptions() > 0) return;
  if (!__atomic_load_n(&communicator_set::any_untold(), __ATOMIC_ACQUIRE)) return;
  __atomic_store_n(&communicator_set::any_untold(), false, __ATOMIC_RELEASE);
  communicator_registry& all = communicators();
  for (std::size_t i = 0; communicator_set* const s = all.number(i); ++i) s->tell();
}

/// A thread that looks after the groups in flight: NCCL has no deadline, and who issues work, or waits for
/// it, may be in CUDA for ever. Ending the communicators brings both back. Never destroyed.
class collective_watch {
 public:
  /// means: the thread is there; it looks soon
  LOCUS_SHARED_STATE static void wake() {
    static collective_watch* const one = new collective_watch;
    one->look_soon();
  }

 private:
  collective_watch() {
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
  double look() {
    communicator_registry& all = communicators();
    lock_guard watching(all.looking);
    double next = communicator_set::patient;
    for (std::size_t i = 0; communicator_set* const s = all.number(i); ++i) {
      double const theirs = s->look(seconds_now());
      if (theirs < next) next = theirs;
    }
    return next > 0.001 ? next : 0.001;
  }
  void wait(double seconds) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += static_cast<long>(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1'000'000'000, until.tv_nsec %= 1'000'000'000;
    lock_guard hold(lock_);
    if (!std::exchange(woken_, false)) pthread_cond_timedwait(&something_, lock_.native(), &until);
    woken_ = false;
  }
  void look_soon() {
    lock_guard hold(lock_);
    woken_ = true;
    pthread_cond_signal(&something_);
  }
  mutex lock_;
  pthread_cond_t something_;
  bool woken_ = false;
};

/// means: a set for these cards, as yet without communicators
inline communicator_set* empty_set(replica_topology const& t, runtime::nccl_api const* api) {
  auto* const s = new communicator_set;
  s->list = t.representatives(), s->ranks = t.ranks, s->api = api;
  for (int p = 0; p < t.ranks; ++p) s->on[p] = t.on[t.first[p]];
  runtime::forget_communicators = [] { communicators().forget(); };
  runtime::collective_report = report_collectives;
  return s;
}

/// said once: a variable under which launches on several cards by one thread wait for one another
LOCUS_SHARED_STATE [[gnu::cold]] inline void warn_of_blocking() {
  static constinit bool said = false;
  char const* const value = from_environment("CUDA_LAUNCH_BLOCKING");
  if (!value || *value == 0 || std::string_view(value) == "0" ||
      __atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
    return;
  log_line line;
  runtime::warn(
      line << "locus: CUDA_LAUNCH_BLOCKING is set: a collective's kernel on one card waits "
              "for that on another, which is not launched yet, and none of them ends; unset "
              "it, or call config::set_cross_device_ops(reduction_to_one_device)");
}

/// makes the communicators of a set: grouped, nonblocking, with a deadline
[[gnu::cold]] inline void init_communicators(communicator_set& s) {
  collective_name const name{"making communicators", -1};
  lock_guard hold(runtime::issue_lock);
  lock_guard using_it(s.use);
  nccl_card_scope const scope(*s.on[0]);
  bool const is_cuda = s.on[0]->how == backing::cuda;
  if (is_cuda) warn_of_blocking();
  bool const had_error = is_cuda && runtime::gpu_api->peek_error() != 0;  // of the program's
  double const begin = seconds_now();
  runtime::nccl_id id{};
  if (int const code = s.api->make_id(&id); code != 0)
    s.fail(name, -1, "there is no unique id", code, seconds_now() - begin);
  if (int const code = s.api->group_start(); code != 0)
    s.fail(name, -1, "a group cannot begin", code, seconds_now() - begin);
  int wrong = 0, at = -1;
  message why;
  for (int p = 0; p < s.ranks && wrong == 0; ++p) {
    nccl_card_scope const card(*s.on[p]);
    wrong = card.code() != 0 ? int(runtime::nccl_cuda_error)
                             : s.api->init_rank(&s.comm[p], s.ranks, &id, p);
    if (wrong == runtime::nccl_in_progress) wrong = 0;
    if (wrong != 0) at = p, why << s.text_of_error();
  }
  int const end = s.api->group_end();
  if (wrong != 0) s.fail(name, at, "a rank cannot begin", wrong, seconds_now() - begin, why.view());
  if (end != 0 && end != runtime::nccl_in_progress)
    s.fail(name, -1, "they could not be made", end, seconds_now() - begin);
  s.settle(name, runtime::collective_deadline(&runtime::collective_deadlines::init));
  if (is_cuda && !had_error) runtime::gpu_api->last_error();  // what 2.28 leaves behind
  __atomic_store_n(&s.ready, true, __ATOMIC_RELEASE);
}

}  // namespace detail

}  // namespace locus

LOCUS_COLD_END
