// SPDX-License-Identifier: Apache-2.0
// Writes whole texts, also if a signal handler interrupts the call.
#pragma once
#include <cerrno>       // errno
#include <cstdio>       // fwrite
#include <string_view>  // string_view
#include <unistd.h>     // write

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

LOCUS_COLD_BEGIN

namespace locus::runtime {

/// means: writes the whole text; false if a write failed
inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    auto const n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}
/// means: writes the whole text to stderr, also if the program redirected it; errno is unchanged
inline void write_to_stderr(std::string_view text) {
  int const before = errno;
  for (;;) {
    errno = 0;
    text.remove_prefix(std::fwrite(text.data(), 1, text.size(), stderr));
    if (text.empty() || errno != EINTR) break;
    std::clearerr(stderr);
  }
  errno = before;
}

}  // namespace locus::runtime

LOCUS_COLD_END
