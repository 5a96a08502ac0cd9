// SPDX-License-Identifier: Apache-2.0
// The replicas of one run: a thread for each where their devices work at the same time, otherwise
// one after another; where they meet; and what becomes of the exception of one of them.
#pragma once
#include <condition_variable>  // condition_variable
#include <exception>           // exception_ptr
#include <functional>          // function
#include <memory>              // shared_ptr
#include <mutex>               // mutex
#include <thread>              // thread
#include <vector>              // vector

#include <locus/core/error.hpp>       // error
#include <locus/device/name.hpp>      // message << device
#include <locus/runtime/signals.hpp>  // without_signals

namespace locus {

/// means: a replica threw; the text names it, `cause` is what it threw
struct replica_error : error {
  replica_error(message const& text, int which, std::exception_ptr why)
      : error(text), replica(which), cause(std::move(why)) {}
  int replica;
  std::exception_ptr cause;
};

namespace detail {

/// Unwinds a replica that waits for one that will not come.
struct abandoned {};

/// means: body(r) for every replica, which may meet one another
/// cost:  side by side: a thread for each but the first, which is the caller's. In turn: none, until
///        the first replica meets the others; only one works at a time
/// fails: replica_error for the first that threw, after all have ended
class replica_team {
 public:
  using body = std::function<void(int)>;
  replica_team(device_list const& devices, bool side_by_side)
      : devices_(devices), side_by_side_(side_by_side),
        brought_(static_cast<std::size_t>(devices.size())) {}
  replica_team(replica_team const&) = delete;

  void run(body const& f) {
    body_ = &f;
    if (side_by_side_) start_others();
    work(0);
    for (int r = 1; r < replicas() && threads_.empty(); ++r) work(r);
    for (std::thread& t : threads_) t.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  int replicas() const { return devices_.size(); }
  device_list const& devices() const { return devices_; }

  /// means: every replica waits here with something of its own; the last one to come does `action`
  ///        with all of it, which all get the result of
  /// what: a name for messages; tag: what makes two calls the same one
  std::shared_ptr<void> meet(int r, std::string_view what, void const* tag, void* brings,
                             std::function<std::shared_ptr<void>(void* const*)> const& action) {
    bool const alone = !side_by_side_ && replicas() > 1 && threads_.empty();
    if (alone && r == 0) start_others();
    std::unique_lock lock(mutex_);
    if (failed_) throw abandoned{};
    if (alone && r > 0) fail(count_error(r, what));  // those before it have ended already
    brought_[std::size_t(r)] = brings;
    if (waiting_ == 0) {
      what_ = what, tag_ = tag, first_ = r;
    } else if (tag_ != tag) {
      message text;
      text << "locus: replica " << r << " calls " << what << " where replica " << first_
           << " calls " << std::string_view(what_)
           << "; replicas make the same calls in the same order";
      fail(std::make_exception_ptr(placement_error(text)));
    }
    std::uint64_t const mine = generation_;
    if (++waiting_ + ended_ == replicas()) {
      if (ended_ > 0) fail(count_error(r, what));
      std::shared_ptr<void> result;
      lock.unlock();
      try {
        result = action(brought_.data());
      } catch (...) {
        lock.lock();
        fail(std::current_exception());
      }
      lock.lock();
      result_ = result, waiting_ = 0, ++generation_, turn_ = 0;
      changed_.notify_all();
    } else {
      hand_on(r);
      changed_.wait(lock, [&] { return failed_ || generation_ != mine; });
    }
    if (failed_) throw abandoned{};
    std::shared_ptr<void> const result = result_;
    if (!side_by_side_) changed_.wait(lock, [&] { return failed_ || turn_ == r; });
    if (failed_) throw abandoned{};
    return result;
  }

 private:
  void start_others() {
    runtime::without_signals const hold_back;
    for (int r = 1; r < replicas(); ++r) try {
        threads_.emplace_back([this, r] { enter(r); });
      } catch (...) {
        std::unique_lock const lock(mutex_);
        failed_ = true, failure_ = std::current_exception();
        changed_.notify_all();
        return;
      }
  }
  void enter(int r) {
    {
      std::unique_lock lock(mutex_);
      if (!side_by_side_) changed_.wait(lock, [&] { return failed_ || turn_ == r; });
      if (failed_) return;
    }
    work(r);
  }
  void work(int r) {
    std::exception_ptr thrown;
    {
      std::unique_lock const lock(mutex_);
      if (failed_) return;
    }
    try {
      (*body_)(r);
    } catch (abandoned const&) {
      return;
    } catch (...) {
      thrown = name(r, std::current_exception());
    }
    std::unique_lock const lock(mutex_);
    ++ended_;
    if (failed_) return;
    if (thrown) {
      failed_ = true, failure_ = thrown;
    } else if (waiting_ > 0 && waiting_ + ended_ == replicas()) {
      failed_ = true, failure_ = count_error(first_, what_);
    } else
      hand_on(r);
    changed_.notify_all();
  }
  /// the next one that neither waits nor has ended: they come in order, each meeting in full
  void hand_on(int r) {
    if (side_by_side_) return;
    turn_ = r + 1;
    changed_.notify_all();
  }
  /// the lock is held
  [[noreturn]] void fail(std::exception_ptr why) {
    failed_ = true;
    if (!failure_) failure_ = std::move(why);
    changed_.notify_all();
    throw abandoned{};
  }
  static std::exception_ptr count_error(int r, std::string_view what) {
    message text;
    return std::make_exception_ptr(
        placement_error(text << "locus: replica " << r << " calls " << what
                             << " and another one ends without that; replicas make the same calls "
                                "in the same order"));
  }
  std::exception_ptr name(int r, std::exception_ptr const& cause) const {
    message text;
    text << "locus: replica " << r << " on " << devices_[r] << ": ";
    try {
      std::rethrow_exception(cause);
    } catch (std::exception const& e) {
      std::string_view words = e.what();
      if (words.starts_with("locus: ")) words.remove_prefix(7);
      text << words;
    } catch (...) {
      text << "it threw something that is no exception";
    }
    return std::make_exception_ptr(replica_error(text, r, cause));
  }

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

}  // namespace detail
}  // namespace locus
