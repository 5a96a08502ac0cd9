// SPDX-License-Identifier: Apache-2.0
// Signals are the program's: its handlers run on its own threads, and what they break into goes on.
#pragma once
#include <cerrno>            // errno
#include <csignal>           // pthread_sigmask
#include <initializer_list>  // of signals

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: call(), and once more each time that the handler of a signal broke into it. Calls of the
///        system that give -1 then: open, fsync and the like wait on file systems of a network
template <class F>
auto uninterrupted(F&& call) {
  for (;;)
    if (auto const result = call(); result != -1 || errno != EINTR) return result;
}

/// While it lives, a thread that this one makes takes no signal that is sent to the process: a signal
/// that the program holds back, to save its work, say, would end it by way of a thread that it does not
/// know of. What a thread does itself (a fault, abort, a broken pipe) and a profiler's clock reach it.
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
