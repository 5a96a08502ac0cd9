// SPDX-License-Identifier: Apache-2.0
// What an error says, as a text to compare with.
#pragma once
#include <locus/core/error.hpp>
#include <string>

inline constexpr char const* nothing_thrown = "nothing was thrown";

/// means: what f throws, which must be of that kind, says
template <class Kind = locus::error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (Kind const& e) {
    return e.what();
  } catch (std::exception const& e) {
    return std::string("another kind: ") + e.what();
  }
  return nothing_thrown;
}
