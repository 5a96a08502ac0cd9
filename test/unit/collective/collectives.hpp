// SPDX-License-Identifier: Apache-2.0
// What tests of collectives set, and take back at the end of their scope.
#pragma once
#include <string>

#include <locus/locus.hpp>

namespace collectives {

struct deadline {
  explicit deadline(double seconds) { locus::config::set_collective_timeout(seconds); }
  deadline(deadline const&) = delete;
  ~deadline() { locus::runtime::collectives.deadlines = {}; }
};
inline bool has(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace collectives
