// SPDX-License-Identifier: Apache-2.0
// Where in the program a call stands: for messages, the log and the report of plans.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FILE_OF_CALL

namespace locus {

/// means: file and line of the call, as a default argument: f(x, call_site where = call_site::here())
///        An operator takes no such argument: there it is the address of the code.
/// after: std::source_location, which costs an include and has no number when it is unset
struct call_site {
  char const* file = nullptr;
  int line = 0;
  static constexpr call_site here(char const* file = LOCUS_FILE_OF_CALL,
                                  int line = LOCUS_LINE_OF_CALL) {
    return {file, line};
  }
  constexpr bool is_set() const { return file != nullptr && line > 0; }

  /// for what addr2line turns into a line
  static call_site of_code(void const* address) { return {static_cast<char const*>(address), -1}; }
  constexpr bool is_code() const { return file != nullptr && line < 0; }
  void const* code() const { return is_code() ? file : nullptr; }
  friend constexpr bool operator==(call_site const&, call_site const&) = default;
};

/// means: an address inside the function that calls this
[[gnu::noinline]] inline void const* code_here() { return __builtin_return_address(0); }

}  // namespace locus
