// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators: one set for each list of cards, made when it is first needed, with deadlines,
// since NCCL has none. A set that failed is ended as a whole.
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

/// the stream that NCCL is given
LOCUS_FUNCTION void* stream_of(logical_device& d, queue_kind queue);
/// means: NCCL makes what it makes for the card of d; NCCL itself goes back to the card that is current
///        when it is called, which must be one in use
class nccl_card_scope : public runtime::card_scope {
 public:
  explicit nccl_card_scope(logical_device const& d);
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
                             bool tell_others = false);
  /// ends all communicators and says so     fails: always, with collective_error
  [[noreturn, gnu::cold]] void fail(collective_name const& name, int rank, std::string_view cause,
                                    int code, double seconds, std::string_view more = {});
  /// what NCCL wrote about its last failure
  std::string_view text_of_error() const;
  bool is_broken() const { return __atomic_load_n(&broken, __ATOMIC_ACQUIRE); }
  /// fails: collective_error, when the set failed before or was replaced; with its first words, if nobody has heard them
  void require_usable(collective_name const& name);
  /// fails: collective_error, for a failure that the watch saw and nobody was told
  void tell();
  /// means: nobody can use them any more; `use` is held
  /// after: a thread that still holds this set is told so
  void retire() noexcept;
  /// gives communicators back; in order: what they were given has run, or will
  void end(bool in_order) noexcept;
  /// waits until NCCL has taken all that it was given: communicators that do not block. The watch keeps
  /// away meanwhile: ending communicators while another thread asks for their state is not allowed.
  void settle(collective_name const& name, double deadline);
  double deadline() const;
  /// a thread calls NCCL from now on, which may have to be ended; since 0: it is back, and the watch has
  /// ended all that it was to end
  void note_issue(collective_name const& name, double since);
  /// a group was issued: the watch looks after it
  void watch(collective_flight const& f);
  /// the last one has this point behind it
  void note_done(int rank, collective_flight::point const& p);
  /// means: looks after what is in flight; units: seconds until it should look again
  double look(double now);

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
  [[noreturn, gnu::cold]] void rethrow();
  void write(collective_name const& name, int rank, std::string_view cause, int code,
             double seconds, std::string_view more);
  void late(collective_flight const& f, int rank, std::string_view cause, int code, double now);
  /// a thread is with NCCL, perhaps for ever: ending its communicators is what brings it back
  double look_at_issue(double now);
  int first_late(collective_flight const& f) const;
  /// means: a point of a queue was reached, as far as is seen without waiting: a thread that marks that queue may be in CUDA
  ///        for ever
  static bool seems_run(collective_flight::point const& of);
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

  communicator_set* find(device_list const& list);
  /// means: set i: the sets in use, then the replaced ones; null: there are not so many
  communicator_set* number(std::size_t i);
  /// means: the set of that list is no more; its communicators end when nobody calls NCCL with them
  void remove(device_list const& list);
  void forget() noexcept;
};
LOCUS_SHARED_STATE inline communicator_registry& communicators() {
  static communicator_registry* const r = new communicator_registry;
  return *r;
}

/// fails: collective_error, where a collective failed behind the program's back; one thread is told, unless
///        another error is on its way there, which would swallow this one
LOCUS_FUNCTION void report_collectives();

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
  collective_watch();
  double look();
  void wait(double seconds);
  void look_soon();
  mutex lock_;
  pthread_cond_t something_;
  bool woken_ = false;
};

/// means: a set for these cards, as yet without communicators
LOCUS_FUNCTION communicator_set* empty_set(replica_topology const& t, runtime::nccl_api const* api);

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
[[gnu::cold]] LOCUS_FUNCTION void init_communicators(communicator_set& s);

}  // namespace detail

}  // namespace locus

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/communicators.hpp>  // bodies of the functions above
#endif
