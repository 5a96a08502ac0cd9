// SPDX-License-Identifier: Apache-2.0
// Opens files for writing: never through a link of another user, and without waiting.
#pragma once
#include <sys/stat.h>  // fstat

#include <locus/core/macros.hpp>   // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/runtime/path.hpp>  // kind_of_file

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::runtime {

/// means: why an open file must not be written; empty: it may be. It may be if it is a regular file
///        of this user with one name. A second name (a hard link) may belong to another program, a
///        pipe may wait for ever, and another user can read and replace files of his own
constexpr std::string_view why_not_ours(struct stat const& s, uid_t user) {
  if (!S_ISREG(s.st_mode)) return kind_of_file(s.st_mode);
  if (s.st_nlink != 1) return "a file with a second name (a hard link)";
  if (s.st_uid != user) return "a file of another user";
  return {};
}

/// Whether an old file is emptied or continued.
enum class writing : unsigned char { anew, at_the_end };

/// means: opens a new or an old file; writes go to its end. A terminal and /dev/null are allowed
///        too, since nothing can be overwritten there
/// cost:  not between LOCUS_COLD_BEGIN and _END: open with _FORTIFY_SOURCE needs -O
/// fails: bad_file with `subject`, path and cause: the system's error, a link, a pipe, another
///        user's file
LOCUS_FUNCTION int open_output(std::string_view subject, std::string_view path,
                               writing how = writing::anew);

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/output_file.hpp>  // bodies of the functions above
#endif
