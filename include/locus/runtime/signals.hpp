// SPDX-License-Identifier: Apache-2.0
// Signals belong to the program: its handlers run on its own threads; interrupted calls are
// repeated.
#pragma once
#include <cerrno>            // errno
#include <csignal>           // pthread_sigmask
#include <initializer_list>  // of signals

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: call(), repeated while a signal handler interrupts it. For system calls that return -1
///        then: open, fsync and other calls wait on network file systems
template <class F>
auto uninterrupted(F&& call) {
  for (;;)
    if (auto const result = call(); result != -1 || errno != EINTR) return result;
}

/// While such an object lives, threads that this thread starts block signals sent to the process.
/// If a program blocks a signal in its own threads, to save its work first, the signal must not
/// reach a thread that the program does not know. Signals for a thread itself (a fault, abort, a
/// broken pipe, a profiler's clock) are not blocked.
class without_signals {
 public:
  without_signals() {
    sigset_t all;
    sigfillset(&all);
    for (int const own :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF, SIGVTALRM})
      sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  without_signals(without_signals const&) = delete;
  ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace locus::runtime
