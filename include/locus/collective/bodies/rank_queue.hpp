// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/rank_queue.hpp declares.
#pragma once
#include <utility>  // exchange, move

#include <locus/collective/rank_queue.hpp>  // the declarations
#include <locus/core/clock.hpp>             // read_clock
#include <locus/core/hooks.hpp>             // between_ranks
#include <locus/runtime/signals.hpp>        // without_signals

LOCUS_COLD_BEGIN

namespace locus::internal {

LOCUS_FUNCTION rank_queue::rank_queue() {
  runtime::without_signals const for_the_program;
  thread_ = std::thread([this] { loop(); });
}

LOCUS_FUNCTION rank_queue::~rank_queue() {
  {
    std::lock_guard const hold(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

LOCUS_FUNCTION std::uint64_t rank_queue::push(std::function<void()> job) {
  std::lock_guard const hold(lock_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
  return ++pushed_;
}

LOCUS_FUNCTION void rank_queue::wait(std::uint64_t ticket) {
  if (__atomic_load_n(&ended_, __ATOMIC_ACQUIRE) < ticket) {
    __atomic_fetch_add(&runtime::waiting_for_ranks, 1, __ATOMIC_RELAXED);
    std::unique_lock hold(lock_);
    changed_.wait(hold, [&] { return ended_ >= ticket; });
    __atomic_fetch_sub(&runtime::waiting_for_ranks, 1, __ATOMIC_RELAXED);
  }
  std::unique_lock hold(lock_);
  if (failed_ > 0 && failed_ <= ticket) {
    std::exception_ptr const error = error_;
    hold.unlock();
    std::rethrow_exception(error);
  }
}

LOCUS_FUNCTION void rank_queue::loop() {
  runtime::carries_reductions = true;
  std::unique_lock hold(lock_);
  for (;;) {
    changed_.wait(hold, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> const job = std::move(jobs_.front());
    jobs_.pop_front();
    hold.unlock();
    std::exception_ptr error;
    try {
      job();
    } catch (...) {
      error = std::current_exception();
    }
    hold.lock();
    __atomic_store_n(&ended_, ended_ + 1, __ATOMIC_RELEASE);
    if (error && failed_ == 0) failed_ = ended_, error_ = error;
    changed_.notify_all();
  }
}

}  // namespace locus::internal

namespace locus::detail {

/// Ends with the ranks; a program that exits before leaves it to the system, with what waits there.
LOCUS_SHARED_STATE inline constinit internal::rank_queue* reductions_under_way = nullptr;

/// means: see rank_queue_functions
LOCUS_FUNCTION void wait_between_ranks(std::uint64_t ticket) {
  if (reductions_under_way) reductions_under_way->wait(ticket);
}
LOCUS_FUNCTION void mark_between_ranks(runtime::trace_span const& span, bool ends) {
  static std::int64_t begin = 0;  // of the thread of the queue
  internal::queue_between_ranks().push([span, ends] {
    std::int64_t const now = read_clock();
    if (ends)
      runtime::the_tracer().ran(span, runtime::track_of(cpu(0), runtime::queue_kind::communication),
                                begin, now);
    else
      begin = now;
  });
}

inline constexpr runtime::rank_queue_functions queue_functions{wait_between_ranks,
                                                               mark_between_ranks};

}  // namespace locus::detail

namespace locus::internal {

LOCUS_FUNCTION rank_queue& queue_between_ranks() {
  if (!locus::detail::reductions_under_way) {
    locus::detail::reductions_under_way = new rank_queue;
    runtime::between_ranks = &locus::detail::queue_functions;
  }
  return *locus::detail::reductions_under_way;
}

LOCUS_FUNCTION void finish_between_ranks() {
  if (locus::detail::reductions_under_way && !runtime::carries_reductions)
    locus::detail::reductions_under_way->finish();
}

LOCUS_FUNCTION void end_between_ranks() noexcept {
  runtime::between_ranks = nullptr;
  delete std::exchange(locus::detail::reductions_under_way, nullptr);
}

LOCUS_FUNCTION bool is_busy_between_ranks() {
  return locus::detail::reductions_under_way && !locus::detail::reductions_under_way->is_idle();
}

}  // namespace locus::internal

LOCUS_COLD_END
