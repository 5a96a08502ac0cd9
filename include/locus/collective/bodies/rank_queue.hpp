// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that collective/rank_queue.hpp declares.
#pragma once
#include <utility>  // move

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
  std::unique_lock hold(lock_);
  changed_.wait(hold, [&] { return ended_ >= ticket; });
  if (failed_ == 0 || failed_ > ticket) return;
  std::exception_ptr const error = error_;
  hold.unlock();
  std::rethrow_exception(error);
}

LOCUS_FUNCTION void rank_queue::finish() {
  std::unique_lock hold(lock_);
  std::uint64_t const last = pushed_;
  hold.unlock();
  wait(last);
}

LOCUS_FUNCTION bool rank_queue::is_idle() {
  std::lock_guard const hold(lock_);
  return ended_ == pushed_;
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
    ++ended_;
    if (error && failed_ == 0) failed_ = ended_, error_ = error;
    changed_.notify_all();
  }
}

}  // namespace locus::internal

namespace locus::detail {

/// Ends with the ranks; a program that exits before leaves it to the system, with what waits there.
LOCUS_SHARED_STATE inline constinit internal::rank_queue* reductions_under_way = nullptr;

/// means: see rank_queue_functions
LOCUS_FUNCTION void wait_between_ranks(std::uint64_t ticket) { reductions_under_way->wait(ticket); }
LOCUS_FUNCTION void wait_for_marks() {
  std::uint64_t const now = reductions_under_way->push([] {});
  try {
    reductions_under_way->wait(now);
  } catch (std::exception const&) {}  // of a reduction, whose reader is told
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
                                                               mark_between_ranks, wait_for_marks};

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
  if (!runtime::carries_reductions && locus::detail::reductions_under_way)
    locus::detail::reductions_under_way->finish();
}

LOCUS_FUNCTION void end_between_ranks() noexcept {
  delete locus::detail::reductions_under_way;  // its jobs end, which look for it
  locus::detail::reductions_under_way = nullptr, runtime::between_ranks = nullptr;
}

LOCUS_FUNCTION bool is_busy_between_ranks() {
  return locus::detail::reductions_under_way && !locus::detail::reductions_under_way->is_idle();
}

}  // namespace locus::internal

LOCUS_COLD_END
