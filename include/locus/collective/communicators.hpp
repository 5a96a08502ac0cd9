// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators: one set for each list of cards, made at the first use. locus adds
// deadlines, which NCCL does not have. When one rank fails, all communicators of the set are ended.
#pragma once
#include <pthread.h>  // pthread_create

#include <locus/collective/topology.hpp>  // replica_topology
#include <locus/core/environment.hpp>     // from_environment
#include <locus/core/macros.hpp>          // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/machine/card_scope.hpp>   // card_scope
#include <locus/watch/log.hpp>            // warn

LOCUS_COLD_BEGIN

namespace locus {

namespace detail {

/// the CUDA stream for NCCL's kernels
LOCUS_FUNCTION void* stream_of(logical_device& d, queue_kind queue);
/// means: makes the card of d current for NCCL, which also restores the card that was current when
///        it was called; that card must be one in use
class nccl_card_scope : public runtime::card_scope {
 public:
  explicit nccl_card_scope(logical_device const& d);
};

}  // namespace detail

namespace internal {

/// means: the collective that an error message names
struct collective_name {
  std::string_view operation;
  short bucket = -1;
};

}  // namespace internal

namespace detail {

/// A group in flight: issued, but not yet run by all ranks.
struct collective_flight {
  collective_name name;
  double deadline = 0;  // seconds after the first rank reached it; 0: none
  double begun = 0;     // when the first rank was seen to reach it; 0: not yet
  /// a point of a rank's queue, and its CUDA event
  struct point {
    stamp when;
    void* event = nullptr;
  };
  point before[max_devices], done[max_devices];  // [rank]; done is unset until note_done
};

class communicator_set {
 public:
  device_list list;         // [rank]
  int ranks = 0;            // of this process
  int before = 0, all = 0;  // NCCL's ranks in the processes before this one, and in all
  logical_device* on[max_devices]{};
  void* comm[max_devices]{};
  runtime::nccl_api const* api = nullptr;
  bool owned = true, ready = false, broken = false;
  bool retired = false;      // replaced by other communicators; then it is broken, too
  bool tried = false;        // try_communicators() got right sums from them
  std::uint64_t issued = 0;  // groups so far
  mutex use;                 // held while NCCL is called with these communicators

  /// means: ends all communicators and stores this text; only the first failure of a set stores a
  ///        text
  [[gnu::cold]] void give_up(collective_name const& name, int rank, std::string_view cause,
                             int code, double seconds, std::string_view more = {},
                             bool tell_others = false);
  /// ends all communicators and throws     fails: always, with collective_error
  [[noreturn, gnu::cold]] void fail(collective_name const& name, int rank, std::string_view cause,
                                    int code, double seconds, std::string_view more = {});
  bool joins_processes() const { return list.is_over_ranks(); }
  /// NCCL's text for its last failure
  std::string_view text_of_error() const;
  bool is_broken() const { return __atomic_load_n(&broken, __ATOMIC_ACQUIRE); }
  /// fails: collective_error, when the set failed before or was replaced; with the text of the
  ///        first failure, if no thread has thrown it yet
  void require_usable(collective_name const& name);
  /// fails: collective_error, for a failure that the watch found and no thread has thrown yet
  void tell();
  /// means: marks the set as replaced, so that no thread uses it; the caller holds `use`
  /// after: a thread that still holds this set gets an error that says so
  void retire() noexcept;
  /// gives communicators back; in_order: work issued to them has run or will run; otherwise it is
  /// aborted
  void end(bool in_order) noexcept;
  /// waits until a nonblocking NCCL has issued all requests of the group. The caller holds `use`,
  /// so the watch does not end communicators while this thread asks for their state, which NCCL
  /// forbids.
  void settle(collective_name const& name, double deadline);
  double deadline() const;
  /// a thread enters NCCL at time `since`; the watch may have to end the communicators to free it.
  /// since 0: the thread is back, and the watch does not end them any more
  void note_issue(collective_name const& name, double since);
  /// a group was issued: the watch checks its deadline from now on
  void watch(collective_flight const& f);
  /// sets the end of the newest group on the queue of a rank
  void note_done(int rank, collective_flight::point const& p);
  /// means: checks the groups in flight; units: seconds until the next check
  double look(double now);

  static constexpr double patient = 0.5;  // seconds between two checks, at most
  /// some set has a failure that no thread has thrown yet
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
  [[noreturn, gnu::cold]] void rethrow();
  void write(collective_name const& name, int rank, std::string_view cause, int code,
             double seconds, std::string_view more);
  void late(collective_flight const& f, int rank, std::string_view cause, int code, double now);
  /// checks the deadline of a thread inside NCCL, which may stay there for ever: ending its
  /// communicators frees it
  double look_at_issue(double now);
  int first_late(collective_flight const& f) const;
  /// means: the queue has reached that point, as far as can be seen without waiting. (A thread that
  ///        holds the queue's lock may stay in CUDA for ever.)
  static bool seems_run(collective_flight::point const& of);
  mutex flights_lock_;
  dynamic_array<collective_flight> flights_;  // in the order of their issue
  collective_name issuing_;                   // the collective of a thread inside NCCL
  double issuing_since_ = 0;                  // 0: none
  mutex words_;                               // guards why_ and failed_
  message why_;
  failure failed_;
};

/// Kept until the device table changes; never destroyed at exit, where NCCL may be unloaded.
struct communicator_registry {
  dynamic_array<communicator_set*> sets;
  dynamic_array<communicator_set*> retired;    // other threads may still hold one
  stamp last_on_card[runtime::max_logical]{};  // groups of several sets run in turn
  mutex lock;                                  // guards both lists; its holder never waits
  mutex making;                                // held to make communicators, before `lock`
  mutex looking;                               // the watch holds it, before `lock`: sets stay

  communicator_set* find(device_list const& list);
  /// means: set i, counting the sets in use, then the replaced ones; null: i is too large
  communicator_set* number(std::size_t i);
  /// means: replaces the set of that list; its communicators end when no thread is inside NCCL with
  ///        them
  void remove(device_list const& list);
  void forget() noexcept;
  /// means: the same for sets that join the ranks of a program, which end with their world
  void forget_ranks() noexcept;
};
LOCUS_SHARED_STATE inline communicator_registry& communicators() {
  static communicator_registry* const r = new communicator_registry;
  return *r;
}

/// fails: collective_error, for a failure that the watch found; one thread throws it, unless
///        another exception is already in flight there, since the second one would be lost
LOCUS_FUNCTION void report_collectives();

/// A thread that checks the groups in flight: NCCL has no deadline, and a thread that issues work,
/// or waits for it, may stay in CUDA for ever. Ending the communicators frees both. Never
/// destroyed.
class collective_watch {
 public:
  /// means: starts the thread, if it does not run yet, and makes it look soon
  LOCUS_SHARED_STATE static void wake() {
    static collective_watch* const one = new collective_watch;
    one->look_soon();
  }

 private:
  collective_watch();
  double look();
  void wait(double seconds);
  void look_soon();
  mutex lock_;
  pthread_cond_t something_;
  bool woken_ = false;
};

/// means: a set for these cards, without communicators
LOCUS_FUNCTION communicator_set* empty_set(replica_topology const& t, runtime::nccl_api const* api);

/// warns once: with CUDA_LAUNCH_BLOCKING, one thread's launches on several cards wait for each
/// other
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
[[gnu::cold]] LOCUS_FUNCTION void init_communicators(communicator_set& s);

}  // namespace detail

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/communicators.hpp>  // bodies of the functions above
#endif
