// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that strategy/replica_threads.hpp declares.
#pragma once
#include <locus/core/macros.hpp>               // LOCUS_FUNCTION
#include <locus/runtime/signals.hpp>           // without_signals
#include <locus/strategy/replica_threads.hpp>  // the declarations

namespace locus::internal {

LOCUS_FUNCTION void replica_team::run(body const& f) {
  body_ = &f;
  if (side_by_side_) start_others();
  work(0);
  for (int r = 1; r < replicas() && threads_.empty(); ++r) work(r);
  for (std::thread& t : threads_) t.join();
  if (failure_) std::rethrow_exception(failure_);
}

LOCUS_FUNCTION std::shared_ptr<void> replica_team::meet(
    int r, std::string_view what, void const* tag, void* brings,
    std::function<std::shared_ptr<void>(void* const*)> const& action) {
  bool const alone = !side_by_side_ && replicas() > 1 && threads_.empty();
  if (alone && r == 0) start_others();
  std::unique_lock lock(mutex_);
  if (failed_) throw abandoned{};
  if (alone && r > 0) fail(count_error(r, what));  // replica 0 ended without this call
  brought_[std::size_t(r)] = brings;
  if (waiting_ == 0) {
    what_ = what, tag_ = tag, first_ = r;
  } else if (tag_ != tag) {
    message text;
    text << "locus: replica " << number(r) << " calls " << what << " where replica "
         << number(first_) << " calls " << std::string_view(what_)
         << "; replicas make the same calls in the same order";
    fail(std::make_exception_ptr(placement_error(text)));
  }
  std::uint64_t const mine = generation_;
  bool const last = ++waiting_ + ended_ == replicas();
  if (last && ended_ > 0) fail(count_error(r, what));
  if (last && (r == 0 || !speaks_to_ranks())) {
    act(lock, action);
  } else {
    last ? changed_.notify_all() : hand_on(r);
    changed_.wait(lock, [&] {
      return failed_ || generation_ != mine ||
             (r == 0 && speaks_to_ranks() && waiting_ == replicas());
    });
    if (!failed_ && generation_ == mine) act(lock, action);
  }
  if (failed_) throw abandoned{};
  std::shared_ptr<void> const result = result_;
  if (!side_by_side_) changed_.wait(lock, [&] { return failed_ || turn_ == r; });
  if (failed_) throw abandoned{};
  return result;
}

LOCUS_FUNCTION void replica_team::act(
    std::unique_lock<std::mutex>& lock,
    std::function<std::shared_ptr<void>(void* const*)> const& action) {
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
}

LOCUS_FUNCTION void replica_team::start_others() {
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

LOCUS_FUNCTION void replica_team::enter(int r) {
  {
    std::unique_lock lock(mutex_);
    if (!side_by_side_) changed_.wait(lock, [&] { return failed_ || turn_ == r; });
    if (failed_) return;
  }
  work(r);
}

LOCUS_FUNCTION void replica_team::work(int r) {
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

LOCUS_FUNCTION void replica_team::hand_on(int r) {
  if (side_by_side_) return;
  turn_ = r + 1;
  changed_.notify_all();
}

LOCUS_FUNCTION void replica_team::fail(std::exception_ptr why) {
  failed_ = true;
  if (!failure_) failure_ = std::move(why);
  changed_.notify_all();
  throw abandoned{};
}

LOCUS_FUNCTION std::exception_ptr replica_team::count_error(int r, std::string_view what) const {
  message text;
  return std::make_exception_ptr(
      placement_error(text << "locus: replica " << number(r) << " calls " << what
                           << " and another one ends without that; replicas make the same calls "
                              "in the same order"));
}

LOCUS_FUNCTION std::exception_ptr replica_team::name(int r, std::exception_ptr const& cause) const {
  message text;
  text << "locus: replica " << number(r) << " on " << devices_[r] << ": ";
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

}  // namespace locus::internal
