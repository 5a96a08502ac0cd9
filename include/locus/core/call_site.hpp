// SPDX-License-Identifier: Apache-2.0
// The place of a call in the program's source: for messages, the log and the report of plans.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FILE_OF_CALL

namespace locus {

/// means: file and line of the call, as a default argument: f(x, call_site where =
///        call_site::here()). Operators take no such argument; for them the call site is an address
///        in the code.
/// after: std::source_location, which costs an include and has no value for "unset"
struct call_site {
  char const* file = nullptr;
  int line = 0;
  static constexpr call_site here(char const* file = LOCUS_FILE_OF_CALL,
                                  int line = LOCUS_LINE_OF_CALL) {
    return {file, line};
  }
  constexpr bool is_set() const { return file != nullptr && line > 0; }

  /// an address that addr2line turns into a line
  static call_site of_code(void const* address) { return {static_cast<char const*>(address), -1}; }
  constexpr bool is_code() const { return file != nullptr && line < 0; }
  void const* code() const { return is_code() ? file : nullptr; }
  friend constexpr bool operator==(call_site const&, call_site const&) = default;
};

/// means: an address inside the caller
[[gnu::noinline]] inline void const* code_here() { return __builtin_return_address(0); }

}  // namespace locus
