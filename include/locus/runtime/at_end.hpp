// SPDX-License-Identifier: Apache-2.0
// What is written when the program ends: by return, by exit(), or by an exception that nobody
// catches.
#pragma once
#include <exception>  // terminate_handler

#include <locus/core/macros.hpp>  // LOCUS_SHARED_STATE, LOCUS_FUNCTION

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
LOCUS_FUNCTION void run_end_functions(bool terminating);
inline void run_at_exit() { run_end_functions(false); }
[[noreturn]] LOCUS_FUNCTION void run_at_terminate();
}  // namespace detail

/// means: f(terminating) runs once at the end. The program's own handler of exceptions that nobody
///        catches is called behind it; then f waits for nothing, since anything may be locked.
[[gnu::cold]] LOCUS_FUNCTION void at_end(void (*f)(bool terminating));

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/at_end.hpp>  // bodies of the functions above
#endif
