// SPDX-License-Identifier: Apache-2.0
// What is written when the program ends: by return, by exit(), or by an exception that nobody
// catches.
#pragma once
#include <cstdlib>    // atexit
#include <exception>  // set_terminate

#include <unistd.h>  // getpid

#include <locus/core/config.hpp>  // LOCUS_SHARED_STATE

namespace locus::runtime {

namespace detail {
struct end_functions {
  static constexpr int max = 8;
  void (*of[max])(bool) = {};
  std::terminate_handler before = nullptr;
  int process = 0;  // a child of a fork writes nothing
};
LOCUS_SHARED_STATE inline constinit end_functions at_end_run;

/// each once
inline void run_end_functions(bool terminating) {
  if (getpid() != at_end_run.process) return;
  for (auto& f : at_end_run.of)
    if (auto const run = __atomic_exchange_n(&f, nullptr, __ATOMIC_ACQ_REL)) run(terminating);
}
inline void run_at_exit() { run_end_functions(false); }
[[noreturn]] inline void run_at_terminate() {
  run_end_functions(true);
  if (at_end_run.before) at_end_run.before();
  std::abort();
}
}  // namespace detail

/// means: f(terminating) runs once at the end. The program's own handler of exceptions that nobody
///        catches is called behind it; then f waits for nothing, since anything may be locked.
[[gnu::cold]] inline void at_end(void (*f)(bool terminating)) {
  detail::at_end_run.process = getpid();
  for (auto& slot : detail::at_end_run.of) {
    void (*free)(bool) = nullptr;
    if (slot == f) break;
    if (__atomic_compare_exchange_n(&slot, &free, f, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      break;
  }
  std::atexit(detail::run_at_exit);
  if (std::get_terminate() != detail::run_at_terminate)
    detail::at_end_run.before = std::set_terminate(detail::run_at_terminate);
}

}  // namespace locus::runtime
