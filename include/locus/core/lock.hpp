// SPDX-License-Identifier: Apache-2.0
// A mutex made of the C library's: <mutex> would cost every unit a quarter of a second to compile.
#pragma once
#include <pthread.h>  // pthread_mutex_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus {

class mutex {
 public:
  constexpr mutex() = default;
  mutex(mutex const&) = delete;
  void lock() { pthread_mutex_lock(&handle_); }
  bool try_lock() { return pthread_mutex_trylock(&handle_) == 0; }
  void unlock() { pthread_mutex_unlock(&handle_); }
  pthread_mutex_t* native() { return &handle_; }

 private:
  pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(mutex& m) : mutex_(m) { mutex_.lock(); }
  lock_guard(lock_guard const&) = delete;
  ~lock_guard() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

}  // namespace locus
