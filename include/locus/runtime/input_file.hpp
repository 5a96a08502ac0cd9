// SPDX-License-Identifier: Apache-2.0
// Files that are read. Regular files alone: opening a pipe may wait for ever, reading a device may do
// something, and neither says how much there is.
#pragma once
#include <cerrno>      // errno
#include <cstdint>     // uint64_t
#include <cstring>     // strerror
#include <fcntl.h>     // open
#include <sys/stat.h>  // stat
#include <unistd.h>    // read, pread
#include <utility>     // exchange

#include <locus/core/error.hpp>       // bad_file
#include <locus/runtime/path.hpp>     // system_path, kind_of_file
#include <locus/runtime/signals.hpp>  // uninterrupted

namespace locus::runtime {

/// means: a file that is open for reading
/// cost:  not between LOCUS_COLD_BEGIN and _END: the open of _FORTIFY_SOURCE needs -O
/// fails: bad_file, naming the path: nothing there, no right to read it, no regular file
class input_file {
 public:
  explicit input_file(std::string_view path) {
    system_path const name(path);
    struct stat s{};
    if (::stat(name.c_str(), &s) != 0) refuse(path, "a readable file", std::strerror(errno));
    if (!S_ISREG(s.st_mode)) refuse(path, "a file", kind_of_file(s.st_mode));
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    file_ = uninterrupted([&] { return ::open(name.c_str(), flags); });
    if (file_ < 0) refuse(path, "a readable file", std::strerror(errno));
    bool const known = ::fstat(file_, &s) == 0;  // that which was opened, whatever was there before
    if (!known || !S_ISREG(s.st_mode)) {
      ::close(std::exchange(file_, -1));
      refuse(path, "a file", known ? kind_of_file(s.st_mode) : "nothing that can be looked at");
    }
    size_ = static_cast<std::uint64_t>(s.st_size);
  }
  input_file(input_file const&) = delete;
  ~input_file() {
    if (file_ >= 0) ::close(file_);
  }
  /// units: bytes, when it was opened
  std::uint64_t size() const { return size_; }
  /// means: the next bytes, all of them, or false
  bool read(void* to, std::uint64_t bytes) {
    bool const all = read_at(at_, to, bytes);
    at_ += bytes;
    return all;
  }
  bool read_at(std::uint64_t at, void* to, std::uint64_t bytes) const {
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
  /// means: the open file, which is the caller's from now on
  int release() { return std::exchange(file_, -1); }

 private:
  [[noreturn, gnu::cold]] static void refuse(std::string_view path, std::string_view expected,
                                             std::string_view found) {
    message text;
    throw bad_file(text << "locus: " << shown(path).view() << ": expected " << expected
                        << ", found " << found << "; give another path");
  }
  int file_ = -1;
  std::uint64_t size_ = 0, at_ = 0;
};

}  // namespace locus::runtime
