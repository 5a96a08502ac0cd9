// SPDX-License-Identifier: Apache-2.0
// Functions that run when the program ends: by return, exit() or an uncaught exception.
#pragma once
#include <exception>  // terminate_handler

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_FUNCTION

namespace locus::runtime {

namespace detail {
struct end_functions {
  static constexpr int max = 8;
  void (*of[max])(bool) = {};
  bool is_handler = false;  // run_at_terminate was set
  std::terminate_handler before = nullptr;
  int process = 0;  // only this process writes, not a child of fork()
};
LOCUS_SHARED_STATE inline constinit end_functions at_end_run;

/// calls each function once
LOCUS_FUNCTION void run_end_functions(bool terminating);
inline void run_at_exit() { run_end_functions(false); }
[[noreturn]] LOCUS_FUNCTION void run_at_terminate();
}  // namespace detail

/// means: f(terminating) runs once at the end. After an uncaught exception, f runs before the
///        program's own terminate handler and must not wait, since any mutex may be locked.
[[gnu::cold]] LOCUS_FUNCTION void at_end(void (*f)(bool terminating));

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/at_end.hpp>  // bodies of the functions above
#endif
