// SPDX-License-Identifier: Apache-2.0
// A thread for calls of a library that block and have no deadline: the caller waits with one.
#pragma once
#include <chrono>              // duration
#include <condition_variable>  // condition_variable
#include <functional>          // function
#include <mutex>               // mutex
#include <thread>              // thread

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: start(f) calls f on a thread of its own; wait() returns after `seconds` at most, also where f
///        does not end
class blocking_caller {
 public:
  blocking_caller() : thread_([this] { loop(); }) {}
  blocking_caller(blocking_caller const&) = delete;
  /// fails: waits for ever, where a call does not end; then the process must end
  ~blocking_caller() {
    {
      std::lock_guard const hold(lock_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void start(std::function<int()> call) {
    std::lock_guard const hold(lock_);
    call_ = std::move(call), busy_ = true;
    changed_.notify_all();
  }
  /// means: waits for the call, at most `seconds`     false: it has not ended
  bool wait(double seconds, int& code) {
    std::unique_lock hold(lock_);
    if (!changed_.wait_for(hold, std::chrono::duration<double>(seconds), [&] { return !busy_; }))
      return false;
    code = code_;
    return true;
  }

 private:
  void loop() {
    std::unique_lock hold(lock_);
    for (;;) {
      changed_.wait(hold, [&] { return busy_ || ends_; });
      if (ends_) return;
      hold.unlock();
      int const code = call_();
      hold.lock();
      code_ = code, busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::function<int()> call_;
  int code_ = 0;
  bool busy_ = false, ends_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace locus::runtime
