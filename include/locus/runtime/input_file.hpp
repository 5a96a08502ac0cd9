// SPDX-License-Identifier: Apache-2.0
// Files that are read. Regular files alone: opening a pipe may wait for ever, reading a device may do
// something, and neither says how much there is.
#pragma once
#include <cstdint>      // uint64_t
#include <string_view>  // string_view
#include <unistd.h>     // read, pread
#include <utility>      // exchange

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_HAS_BODIES

namespace locus::runtime {

/// means: a file that is open for reading
/// cost:  not between LOCUS_COLD_BEGIN and _END: the open of _FORTIFY_SOURCE needs -O
/// fails: bad_file, naming the path: nothing there, no right to read it, no regular file
class input_file {
 public:
  explicit input_file(std::string_view path);
  input_file(input_file const&) = delete;
  ~input_file() {
    if (file_ >= 0) ::close(file_);
  }
  /// units: bytes, when it was opened
  std::uint64_t size() const { return size_; }
  /// means: the next bytes, all of them, or false
  bool read(void* to, std::uint64_t bytes);
  bool read_at(std::uint64_t at, void* to, std::uint64_t bytes) const;
  /// means: the open file, which is the caller's from now on
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
