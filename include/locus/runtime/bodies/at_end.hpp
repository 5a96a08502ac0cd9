// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/at_end.hpp declares.
#pragma once
#include <cstdlib>    // atexit
#include <exception>  // set_terminate
#include <unistd.h>   // getpid

#include <locus/core/macros.hpp>     // LOCUS_FUNCTION
#include <locus/runtime/at_end.hpp>  // the declarations

namespace locus::runtime::detail {

LOCUS_FUNCTION void run_end_functions(bool terminating) {
  if (getpid() != at_end_run.process) return;
  for (auto& f : at_end_run.of)
    if (auto const run = __atomic_exchange_n(&f, nullptr, __ATOMIC_ACQ_REL)) run(terminating);
}

LOCUS_FUNCTION void run_at_terminate() {
  run_end_functions(true);
  if (at_end_run.before) at_end_run.before();
  std::abort();
}

}  // namespace locus::runtime::detail

namespace locus::runtime {

LOCUS_FUNCTION void at_end(void (*f)(bool terminating)) {
  detail::at_end_run.process = getpid();
  for (auto& slot : detail::at_end_run.of) {
    void (*free)(bool) = nullptr;
    if (slot == f) break;
    if (__atomic_compare_exchange_n(&slot, &free, f, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      break;
  }
  std::atexit(detail::run_at_exit);
  // once: a handler of the program that came later may call this one
  if (!__atomic_exchange_n(&detail::at_end_run.is_handler, true, __ATOMIC_ACQ_REL))
    detail::at_end_run.before = std::set_terminate(detail::run_at_terminate);
}

}  // namespace locus::runtime
