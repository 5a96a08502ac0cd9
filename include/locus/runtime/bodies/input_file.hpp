// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that runtime/input_file.hpp declares.
#pragma once
#include <cerrno>      // errno
#include <cstring>     // strerror
#include <fcntl.h>     // open
#include <sys/stat.h>  // stat

#include <locus/core/error.hpp>          // bad_file
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION
#include <locus/runtime/input_file.hpp>  // the declarations
#include <locus/runtime/path.hpp>        // system_path, kind_of_file
#include <locus/runtime/signals.hpp>     // uninterrupted

namespace locus::runtime {

LOCUS_FUNCTION input_file::input_file(std::string_view path) {
  system_path const name(path);
  struct stat s{};
  if (::stat(name.c_str(), &s) != 0) refuse(path, "a readable file", std::strerror(errno));
  if (!S_ISREG(s.st_mode)) refuse(path, "a file", kind_of_file(s.st_mode));
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  file_ = uninterrupted([&] { return ::open(name.c_str(), flags); });
  if (file_ < 0) refuse(path, "a readable file", std::strerror(errno));
  bool const known = ::fstat(file_, &s) == 0;  // of the open file, not of the path
  if (!known || !S_ISREG(s.st_mode)) {
    ::close(std::exchange(file_, -1));
    refuse(path, "a file", known ? kind_of_file(s.st_mode) : "nothing that can be looked at");
  }
  size_ = static_cast<std::uint64_t>(s.st_size);
}

LOCUS_FUNCTION bool input_file::read(void* to, std::uint64_t bytes) {
  bool const all = read_at(at_, to, bytes);
  at_ += bytes;
  return all;
}

LOCUS_FUNCTION bool input_file::read_at(std::uint64_t at, void* to, std::uint64_t bytes) const {
  if (at > size_ || bytes > size_ - at) return false;
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    constexpr std::uint64_t most = std::uint64_t(1) << 30;  // Linux gives at most 2 GiB at once
    auto const n = ::pread(file_, p, bytes < most ? bytes : most, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, at += static_cast<std::uint64_t>(n), bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

LOCUS_FUNCTION void input_file::refuse(std::string_view path, std::string_view expected,
                                       std::string_view found) {
  message text;
  throw bad_file(text << "locus: " << shown(path).view() << ": expected " << expected << ", found "
                      << found << "; give another path");
}

}  // namespace locus::runtime
