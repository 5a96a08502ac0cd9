// SPDX-License-Identifier: Apache-2.0
// The thread that carries reductions between ranks beside the program's thread.
#pragma once
#include <condition_variable>  // condition_variable
#include <cstdint>             // uint64_t
#include <deque>               // deque
#include <exception>           // exception_ptr
#include <functional>          // function
#include <mutex>               // mutex
#include <thread>              // thread

#include <locus/core/macros.hpp>         // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/runtime/rank_queue.hpp>  // rank_queue_functions
#include <locus/watch/trace.hpp>         // trace_span

LOCUS_COLD_BEGIN

namespace locus::internal {

/// Jobs in the order in which they were pushed, one at a time, on a thread of their own.
class rank_queue {
 public:
  rank_queue();
  rank_queue(rank_queue const&) = delete;
  /// the jobs end first
  ~rank_queue();

  /// returns: the number of the job, from 1
  std::uint64_t push(std::function<void()> job);
  /// means: returns when the job with that number has ended
  /// fails: with the error of the first job that failed, if that job is not a later one
  void wait(std::uint64_t ticket);
  /// means: waits for all jobs     fails: as wait
  void finish();
  bool is_idle();

 private:
  void loop();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::uint64_t pushed_ = 0, ended_ = 0, failed_ = 0;  // failed: 0, or the first one's number
  std::exception_ptr error_;
  bool ends_ = false;
  std::thread thread_;  // the last: it uses the others
};

/// means: the queue of this process, made for its first job
LOCUS_FUNCTION rank_queue& queue_between_ranks();
/// means: returns when this process has no reduction under way     fails: as rank_queue::wait
LOCUS_FUNCTION void finish_between_ranks();
/// means: as finish_between_ranks, without errors; the thread ends
LOCUS_FUNCTION void end_between_ranks() noexcept;
/// means: the queue has jobs that have not ended
LOCUS_FUNCTION bool is_busy_between_ranks();

}  // namespace locus::internal

LOCUS_COLD_END

#if LOCUS_HAS_BODIES
#include <locus/collective/bodies/rank_queue.hpp>  // bodies of the functions above
#endif
