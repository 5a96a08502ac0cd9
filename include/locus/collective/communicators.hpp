// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators: one set for each list of cards, made when it is first needed, nonblocking,
// with deadlines, since NCCL has none. A set that failed is ended as a whole.
#pragma once
#include <sched.h>  // sched_yield
#include <utility>  // exchange

#include <locus/backend/cuda/streams.hpp>  // cuda_queue_of, cuda_event_of
#include <locus/backend/queues.hpp>        // mark, synchronize
#include <locus/collective/error.hpp>      // collective_error
#include <locus/collective/topology.hpp>   // replica_topology
#include <locus/core/clock.hpp>            // seconds_now
#include <locus/core/config.hpp>           // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// the stream that NCCL is given
inline void* stream_of(logical_device& d, queue_kind queue) {
  return d.how == backing::simulated ? simulated::nccl_stream(d, queue)
                                     : runtime::cuda_queue_of(d, queue).stream;
}
/// what waits for it goes on: it was reached, or CUDA has an error to report
inline bool has_run(stamp s) {
  bool reached = true;
  runtime::card_scope const scope(runtime::table.gpu_of_queue(s.queue).card);
  void* const event = runtime::cuda_event_of(s);
  return !event || runtime::gpu_api->event_query(event, &reached) != 0 || reached;
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

class communicator_set {
 public:
  device_list list;  // [rank]
  int ranks = 0;
  logical_device* on[max_devices]{};
  void* comm[max_devices]{};
  runtime::nccl_api const* api = nullptr;
  bool owned = true, ready = false, broken = false;
  std::uint64_t issued = 0;   // groups
  bool pending = false;       // the last group may still run
  stamp last[max_devices]{};  // [rank]: behind the last group
  collective_name latest{};

  /// ends all communicators and says so     fails: always, with collective_error
  [[noreturn, gnu::cold]] void fail(collective_name const& name, int rank, std::string_view cause,
                                    int code, double seconds, std::string_view more = {}) {
    message text;
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
    end(false);
    broken = true, why_ = message{}, why_ << text.view();
    throw collective_error(text, name.operation, name.bucket, rank, seconds);
  }
  /// what NCCL wrote about its last failure
  std::string_view text_of_error() const {
    char const* const text = api->last_error(nullptr);
    return text ? std::string_view(text) : std::string_view();
  }
  /// fails: collective_error, when the set failed before
  void require_usable(collective_name const& name) const {
    if (!broken) return;
    message text;
    text << "locus: " << name.operation << " over";
    for (int p = 0; p < ranks; ++p) text << " " << list[p];
    throw collective_error(text << " cannot run: its communicators failed before; call "
                                   "collective::rebuild<Devices>(). It was: "
                                << why_.view(),
                           name.operation, name.bucket, -1, 0);
  }
  /// gives communicators back; in order: what they were given has run, or will
  void end(bool in_order) noexcept {
    if (ranks == 0) return;
    nccl_card_scope const scope(*on[0]);
    for (int p = 0; p < ranks; ++p)
      if (void* const c = std::exchange(comm[p], nullptr); c && owned)
        in_order ? api->destroy(c) : api->abort(c);
    ready = pending = false;
  }
  /// waits until NCCL has taken all that it was given
  void settle(collective_name const& name, double deadline) {
    double const begin = seconds_now();
    for (int p = 0; p < ranks; ++p)
      for (;;) {
        int state = 0;
        if (int const code = api->async_state(comm[p], &state); code != 0)
          fail(name, p, "asking for its state failed", code, seconds_now() - begin);
        if (state == runtime::nccl_success) break;
        if (state != runtime::nccl_in_progress)
          fail(name, p, "it ended with an error", state, seconds_now() - begin);
        if (deadline > 0 && seconds_now() - begin > deadline)
          fail(name, p, "it did not come back within the timeout", 0, seconds_now() - begin);
        sched_yield();
      }
  }
  /// waits until rank p has passed s, or the deadline
  void wait_for(stamp s, int p, collective_name const& name, double deadline) {
    if (on[p]->how != backing::cuda) return runtime::synchronize(s);
    double const begin = seconds_now();
    for (unsigned spin = 0;; ++spin) {
      if (has_run(s)) break;
      if (spin % 64 == 63) check_state(name, begin, deadline);
      sched_yield();
    }
    runtime::synchronize(s);  // what the event says
  }
  /// an error of another rank, or a deadline that has passed
  void check_state(collective_name const& name, double begin, double deadline) {
    for (int q = 0; q < ranks; ++q) {
      int state = 0;
      int const code = api->async_state(comm[q], &state);
      if (code != 0 || (state != 0 && state != runtime::nccl_in_progress))
        fail(name, q, "it ended with an error", code ? code : state, seconds_now() - begin);
    }
    if (deadline > 0 && seconds_now() - begin > deadline)
      fail(name, first_late(), "it did not end within the timeout", 0, seconds_now() - begin);
  }
  bool is_done() const { return first_late() < 0; }
  double deadline() const {
    using runtime::collective_deadlines;
    return runtime::collective_deadline(issued <= 1 ? &collective_deadlines::first
                                                    : &collective_deadlines::steady);
  }

 private:
  int first_late() const {
    for (int p = 0; p < ranks; ++p)
      if (last[p].is_set() && on[p]->how == backing::cuda && !has_run(last[p])) return p;
    return -1;
  }
  message why_;
};

/// Kept until the device table changes; never destroyed at exit, where NCCL may be gone.
struct communicator_registry {
  dynamic_array<communicator_set*> sets;
  stamp last_on_card[runtime::max_logical]{};  // groups of several sets on one card take turns
  mutex lock;

  communicator_set* find(device_list const& list) {
    for (communicator_set* s : sets)
      if (s->list == list) return s;
    return nullptr;
  }
  void forget() noexcept {
    lock_guard hold(lock);
    for (communicator_set* s : sets) {
      s->end(true);
      delete s;
    }
    sets.clear();
    for (stamp& s : last_on_card) s = {};
  }
};
LOCUS_SHARED_STATE inline communicator_registry& communicators() {
  static communicator_registry* const r = new communicator_registry;
  return *r;
}

/// This thread holds the registry's lock: what it waits for then has a deadline of its own.
struct in_registry {
  LOCUS_SHARED_STATE static bool& flag() {
    static thread_local bool on = false;
    return on;
  }
  in_registry() { flag() = true; }
  in_registry(in_registry const&) = delete;
  ~in_registry() { flag() = false; }
};

/// the host waits for s, and not for ever: called where it waits for a card
inline void watch_collectives(stamp s) {
  if (in_registry::flag()) return;
  communicator_registry& all = communicators();
  lock_guard hold(all.lock);
  double const begin = seconds_now();
  for (communicator_set* set : all.sets) {
    double deadline = 0;
    {
      lock_guard issuing(runtime::issue_lock);
      if (!set->pending || set->on[0]->how != backing::cuda) continue;
      deadline = set->deadline();
    }
    for (unsigned spin = 0;; ++spin) {
      if (has_run(s)) break;
      if (spin % 64 == 63) {
        lock_guard issuing(runtime::issue_lock);
        set->check_state(set->latest, begin, deadline);
      }
      sched_yield();
    }
    lock_guard issuing(runtime::issue_lock);
    set->pending = !set->is_done();
  }
}

/// means: a set for these cards, as yet without communicators
inline communicator_set* empty_set(replica_topology const& t, runtime::nccl_api const* api) {
  auto* const s = new communicator_set;
  s->list = t.representatives(), s->ranks = t.ranks, s->api = api;
  for (int p = 0; p < t.ranks; ++p) s->on[p] = t.on[t.first[p]];
  runtime::forget_communicators = [] { communicators().forget(); };
  runtime::collective_watch = watch_collectives;
  return s;
}

/// makes the communicators of a set: grouped, nonblocking, with a deadline
[[gnu::cold]] inline void init_communicators(communicator_set& s) {
  collective_name const name{"making communicators", -1};
  lock_guard hold(runtime::issue_lock);
  nccl_card_scope const scope(*s.on[0]);
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
  if (s.on[0]->how == backing::cuda) runtime::gpu_api->last_error();  // what 2.28 leaves behind
  s.ready = true;
}

}  // namespace detail

}  // namespace locus

LOCUS_COLD_END
