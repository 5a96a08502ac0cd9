// SPDX-License-Identifier: Apache-2.0
// A program that handles signals, many of them.
#pragma once
#include <csignal>
#include <sys/time.h>

/// While it lives a signal comes every half millisecond; calls that it breaks into give EINTR.
struct signal_storm {
  signal_storm() {
    struct sigaction ours{};
    ours.sa_handler = [](int) { count = count + 1; };
    sigaction(SIGALRM, &ours, &before_);
    count = 0;
    itimerval const often{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  signal_storm(signal_storm const&) = delete;
  ~signal_storm() {
    itimerval const never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  int came() const { return count; }

 private:
  inline static std::sig_atomic_t volatile count = 0;
  struct sigaction before_{};
};
