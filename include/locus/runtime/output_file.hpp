// SPDX-License-Identifier: Apache-2.0
// Opening files to write them: never through a link that somebody laid there, and without waiting.
#pragma once
#include <cerrno>      // errno
#include <cstring>     // strerror
#include <fcntl.h>     // open
#include <sys/stat.h>  // fstat
#include <unistd.h>    // ftruncate, geteuid

#include <locus/core/error.hpp>       // bad_file
#include <locus/runtime/path.hpp>     // system_path, kind_of_file
#include <locus/runtime/signals.hpp>  // uninterrupted

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
inline int open_output(std::string_view subject, std::string_view path,
                       writing how = writing::anew) {
  auto const refuse = [&](std::string_view why, std::string_view remedy) {
    message text;
    throw bad_file(text << "locus: " << subject << " " << shown(path).view() << ": " << why << "; "
                        << remedy);
  };
  system_path const name(path);
  constexpr std::string_view other = "name a new file, or remove that one";
  struct stat s{};
  if (::lstat(name.c_str(), &s) == 0 && !S_ISREG(s.st_mode) && !S_ISCHR(s.st_mode))
    refuse(kind_of_file(s.st_mode), other);  // opening it could already do something
  constexpr int flags =
      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
  int const file = uninterrupted([&] { return ::open(name.c_str(), flags, 0666); });
  if (file < 0) refuse(std::strerror(errno), "name a file in a folder that is there");
  auto const give_up = [&](std::string_view why, std::string_view remedy) {
    ::close(file);
    refuse(why, remedy);
  };
  if (::fstat(file, &s) != 0) give_up(std::strerror(errno), other);
  if (!S_ISCHR(s.st_mode)) {
    if (auto const why = why_not_ours(s, ::geteuid()); !why.empty()) give_up(why, other);
    if (how == writing::anew && uninterrupted([&] { return ::ftruncate(file, 0); }) != 0)
      give_up(std::strerror(errno), other);
  }
  ::fcntl(file, F_SETFL, O_APPEND);  // writers wait, as they did
  return file;
}

}  // namespace locus::runtime
