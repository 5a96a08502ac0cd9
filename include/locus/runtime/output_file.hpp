// SPDX-License-Identifier: Apache-2.0
// The files that the log, a trace and the report go to.
#pragma once
#include <fcntl.h>  // open

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: a new file, or an old one emptied; what is written goes to its end    below 0: see errno
/// cost:  not between LOCUS_COLD_BEGIN and _END: the open of _FORTIFY_SOURCE needs -O
inline int open_output(char const* path) {
  return ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
}

}  // namespace locus::runtime
