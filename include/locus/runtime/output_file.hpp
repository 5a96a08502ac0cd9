// SPDX-License-Identifier: Apache-2.0
// Opening files to write them: never through a link that somebody laid there, and without waiting.
#pragma once
#include <sys/stat.h>  // fstat

#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/runtime/path.hpp>  // kind_of_file

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: why an open file is not to be written in its place; empty: it may be. It is an ordinary file
///        of this user under one name. A second name (a hard link) is another one's file, a pipe may
///        wait for ever, and what belongs to another user is his to read and to exchange
constexpr std::string_view why_not_ours(struct stat const& s, uid_t user) {
  if (!S_ISREG(s.st_mode)) return kind_of_file(s.st_mode);
  if (s.st_nlink != 1) return "a file with a second name (a hard link)";
  if (s.st_uid != user) return "a file of another user";
  return {};
}

/// How a file is begun.
enum class writing : unsigned char { anew, at_the_end };

/// means: a new file, or an old one, emptied or not; what is written goes to its end. A terminal and
///        /dev/null are taken too: nothing is lost there
/// cost:  not between LOCUS_COLD_BEGIN and _END: the open of _FORTIFY_SOURCE needs -O
/// fails: bad_file, `subject` and path and why: the system's words, or a link, a pipe, another user's
LOCUS_FUNCTION int open_output(std::string_view subject, std::string_view path,
                               writing how = writing::anew);

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/output_file.hpp>  // bodies of the functions above
#endif
