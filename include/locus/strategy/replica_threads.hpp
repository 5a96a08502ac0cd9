// SPDX-License-Identifier: Apache-2.0
// The replicas of one run: a thread for each if their devices work at the same time, otherwise one
// after another; the calls at which they wait for each other; the exception of one of them.
#pragma once
#include <condition_variable>  // condition_variable
#include <exception>           // exception_ptr
#include <functional>          // function
#include <memory>              // shared_ptr
#include <mutex>               // mutex
#include <thread>              // thread
#include <vector>              // vector

#include <locus/core/error.hpp>     // error
#include <locus/core/macros.hpp>    // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/device/device.hpp>  // device_list
#include <locus/device/name.hpp>    // message << device

namespace locus {

/// means: a replica threw an exception; the text names the replica, `cause` is its exception
struct replica_error : error {
  replica_error(message const& text, int which, std::exception_ptr why)
      : error(text), replica(which), cause(std::move(why)) {}
  int replica;
  std::exception_ptr cause;
};

namespace detail {

/// Unwinds a replica that waits for a replica which has failed or ended.
struct abandoned {};

}  // namespace detail

namespace internal {

/// means: body(r) for every replica r; bodies may wait for each other in meet()
/// cost:  side by side: a thread for each replica but the first, which runs on the caller's thread.
///        In turn: no thread until the first replica calls meet(); only one replica works at a time
/// fails: replica_error of the first replica that threw, after all have ended
class replica_team {
 public:
  using body = std::function<void(int)>;
  replica_team(device_list const& devices, bool side_by_side)
      : devices_(devices), side_by_side_(side_by_side),
        brought_(static_cast<std::size_t>(devices.size())) {}
  replica_team(replica_team const&) = delete;

  void run(body const& f);
  int replicas() const { return devices_.size(); }
  device_list const& devices() const { return devices_; }

  /// means: every replica waits here with a value of its own; the last one calls action(all
  ///        values), and all return its result. Over ranks the first one calls it, on the thread
  ///        of the program, which alone may speak to other ranks
  /// what: a name for messages; tag: calls with one tag are the same call
  std::shared_ptr<void> meet(int r, std::string_view what, void const* tag, void* brings,
                             std::function<std::shared_ptr<void>(void* const*)> const& action);

 private:
  void start_others();
  bool speaks_to_ranks() const { return devices_.is_over_ranks(); }
  /// all replicas have called meet(): calls the action; the caller holds the lock
  void act(std::unique_lock<std::mutex>& lock,
           std::function<std::shared_ptr<void>(void* const*)> const& action);
  void enter(int r);
  void work(int r);
  /// gives the turn to the next replica: in order, each runs until it waits in meet() or ends
  void hand_on(int r);
  /// the caller holds the lock
  [[noreturn]] void fail(std::exception_ptr why);
  /// the number of replica r of this rank among those of all ranks
  int number(int r) const { return devices_.before() + r; }
  std::exception_ptr count_error(int r, std::string_view what) const;
  std::exception_ptr name(int r, std::exception_ptr const& cause) const;

  device_list devices_;
  bool side_by_side_;
  body const* body_ = nullptr;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<void*> brought_;
  std::shared_ptr<void> result_;
  std::exception_ptr failure_;
  std::string_view what_;
  void const* tag_ = nullptr;
  std::uint64_t generation_ = 0;
  int waiting_ = 0, ended_ = 0, turn_ = 0, first_ = 0;
  bool failed_ = false;
};

}  // namespace internal

}  // namespace locus

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/strategy/bodies/replica_threads.hpp>  // bodies of the functions above
#endif
