// SPDX-License-Identifier: Apache-2.0
// A scope in which all-reduces between ranks end behind their plans.
#pragma once
#include <exception>  // exception
#include <utility>    // exchange

#include <locus/machine/stamps.hpp>  // meet_arrivals

namespace locus::internal {

/// While such an object lives, an all-reduce on the host may go on when its plan has ended: later
/// plans wait for it if they read or write its result. The program uses such results by plans alone,
/// until finish().
class late_results {
 public:
  late_results() = default;
  late_results(late_results const&) = delete;
  ~late_results() {
    runtime::may_be_late = before_;
    try {
      meet();
    } catch (std::exception const&) {}  // finish() would throw it; an exception passes already
  }
  /// means: all results are there     fails: with the error of a reduction
  void finish() {
    runtime::may_be_late = before_;
    meet();
  }

 private:
  static void meet() {
    if (runtime::has_arrivals()) runtime::meet_arrivals_of_host(nullptr, nullptr, 0);
  }
  bool before_ = std::exchange(runtime::may_be_late, true);
};

}  // namespace locus::internal
