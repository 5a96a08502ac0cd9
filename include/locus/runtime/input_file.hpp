// SPDX-License-Identifier: Apache-2.0
// Files that are read: only regular files. Opening a pipe may wait for ever, reading a device may
// have an effect, and both have no size.
#pragma once
#include <cstdint>      // uint64_t
#include <string_view>  // string_view
#include <unistd.h>     // read, pread
#include <utility>      // exchange

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::runtime {

/// means: a file that is open for reading
/// cost:  not between LOCUS_COLD_BEGIN and _END: open with _FORTIFY_SOURCE needs -O
/// fails: bad_file, naming the path: no file, no right to read it, no regular file
class input_file {
 public:
  explicit input_file(std::string_view path);
  input_file(input_file const&) = delete;
  ~input_file() {
    if (file_ >= 0) ::close(file_);
  }
  /// units: bytes, at the time of opening
  std::uint64_t size() const { return size_; }
  /// means: reads the next `bytes` bytes; false if there are fewer
  bool read(void* to, std::uint64_t bytes);
  bool read_at(std::uint64_t at, void* to, std::uint64_t bytes) const;
  /// means: the file descriptor, which the caller must close
  int release() { return std::exchange(file_, -1); }

 private:
  [[noreturn, gnu::cold]] static void refuse(std::string_view path, std::string_view expected,
                                             std::string_view found);
  int file_ = -1;
  std::uint64_t size_ = 0, at_ = 0;
};

}  // namespace locus::runtime

#if LOCUS_HAS_BODIES
#include <locus/runtime/bodies/input_file.hpp>  // bodies of the functions above
#endif
