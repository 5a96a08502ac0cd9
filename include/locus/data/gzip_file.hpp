// SPDX-License-Identifier: Apache-2.0
// Files, gzipped or not, read through zlib: every byte that is missing or changed is noticed. Link
// with -lz.
#pragma once
#include <cerrno>   // errno
#include <cstring>  // strerror
#include <string>   // string
#include <zlib.h>   // gzopen

#include <locus/core/config.hpp>  // LOCUS_COLD_BEGIN
#include <locus/core/error.hpp>   // bad_file

LOCUS_COLD_BEGIN

namespace locus::data::detail {

class gzip_file {
 public:
  explicit gzip_file(char const* path) : path_(path) {
    errno = 0;
    file_ = gzopen(path, "rb");
    if (!file_) fail("a readable file", errno ? std::strerror(errno) : "nothing");
    gzbuffer(file_, 1 << 18);
  }
  gzip_file(gzip_file const&) = delete;
  ~gzip_file() { gzclose(file_); }

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    message text;
    throw bad_file(text << "locus: " << std::string_view(path_) << ": expected " << expected
                        << ", found " << found << "; fetch the file again, or give another path");
  }
  void read(void* to, std::int64_t bytes) {
    auto* p = static_cast<char*>(to);
    for (std::int64_t left = bytes; left > 0;) {
      unsigned const part = left < (1 << 28) ? static_cast<unsigned>(left) : 1u << 28;
      int const got = gzread(file_, p, part);
      if (got <= 0) fail_short(bytes, bytes - left, got);
      p += got, left -= got;
    }
    total_ += bytes;
  }
  /// the file ends here, with its check sum where it is zipped
  void require_end() {
    char more;
    int const got = gzread(file_, &more, 1);
    if (got == 1) {
      message found;
      fail("its end", (found << "more bytes behind byte " << total_).view());
    }
    int error = 0;
    char const* const words = gzerror(file_, &error);
    if (got < 0 || error == Z_BUF_ERROR) fail("its end", words);
  }
  /// means: the next line without its end; false: there is none
  bool read_line(std::string& line) {
    line.clear();
    for (;;) {
      char part[4096];
      if (!gzgets(file_, part, sizeof part)) {
        require_end();
        return !line.empty();
      }
      std::size_t n = __builtin_strlen(part);
      total_ += std::int64_t(n);
      bool const whole = n > 0 && part[n - 1] == '\n';
      line.append(part, n - whole);
      if (whole) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return true;
      }
    }
  }
  std::uint32_t big_endian() {
    unsigned char b[4];
    read(b, 4);
    return std::uint32_t(b[0]) << 24 | std::uint32_t(b[1]) << 16 | std::uint32_t(b[2]) << 8 | b[3];
  }

 private:
  [[noreturn]] void fail_short(std::int64_t wanted, std::int64_t got, int code) const {
    message expected, found;
    expected << wanted << " bytes behind byte " << total_;
    int error = 0;
    char const* const words = gzerror(file_, &error);
    if (code < 0 && error != Z_OK)
      found << std::string_view(words);
    else
      found << "the end after " << got << " of them";
    fail(expected.view(), found.view());
  }
  char const* path_;
  gzFile file_;
  std::int64_t total_ = 0;
};

}  // namespace locus::data::detail

LOCUS_COLD_END
