// SPDX-License-Identifier: Apache-2.0
// Where in the program a call stands: for messages, the log and the report of plans.
#pragma once

namespace locus {

/// means: file and line of the call, as a default argument: f(x, call_site where = call_site::here())
/// after: std::source_location, which costs an include and has no number when it is unset
struct call_site {
  char const* file = nullptr;
  int line = 0;
  static constexpr call_site here(char const* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
    return {file, line};
  }
  constexpr bool is_set() const { return file != nullptr; }
};

}  // namespace locus
