// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/output_file.hpp declares.
#pragma once
#include <cerrno>    // errno
#include <cstring>   // strerror
#include <fcntl.h>   // open
#include <unistd.h>  // ftruncate, geteuid

#include <locus/core/error.hpp>           // bad_file
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION
#include <locus/runtime/output_file.hpp>  // the declarations
#include <locus/runtime/signals.hpp>      // uninterrupted

namespace locus::runtime {

LOCUS_FUNCTION int open_output(std::string_view subject, std::string_view path, writing how) {
  auto const refuse = [&](std::string_view why, std::string_view remedy) {
    message text;
    throw bad_file(text << "locus: " << subject << " " << shown(path).view() << ": " << why << "; "
                        << remedy);
  };
  system_path const name(path);
  constexpr std::string_view other = "name a new file, or remove that one";
  struct stat s{};
  if (::lstat(name.c_str(), &s) == 0 && !S_ISREG(s.st_mode) && !S_ISCHR(s.st_mode))
    refuse(kind_of_file(s.st_mode), other);  // opening such a file could have an effect
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
  ::fcntl(file, F_SETFL, O_APPEND);  // no O_NONBLOCK: writes wait
  return file;
}

}  // namespace locus::runtime
