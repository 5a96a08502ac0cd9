// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/gzip_file.hpp declares.
#pragma once
#include <locus/core/error.hpp>          // bad_file
#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/files/gzip_file.hpp>     // the declarations
#include <locus/runtime/input_file.hpp>  // input_file

LOCUS_COLD_BEGIN

namespace locus::data {

LOCUS_FUNCTION gzip_file::gzip_file(std::string_view path) : path_(path) {
  runtime::input_file file(path);
  size_ = static_cast<std::int64_t>(file.size());
  int const number = file.release();
  file_ = gzdopen(number, "rb");
  if (!file_) {
    ::close(number);
    throw out_of_memory("locus: there is no memory to read a file; end what holds memory");
  }
  gzbuffer(file_, size_ < (1 << 18) ? 1 << 13 : 1 << 18);  // zlib has three such buffers
}

LOCUS_FUNCTION void gzip_file::fail(std::string_view expected, std::string_view found) const {
  message text;
  throw bad_file(text << "locus: " << shown(path_).view() << ": expected " << expected << ", found "
                      << found << "; fetch the file again, or give another path");
}

LOCUS_FUNCTION void gzip_file::require_end() {
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

LOCUS_FUNCTION bool gzip_file::read_line(std::string& line) {
  line.clear();
  ++line_;
  for (;;) {
    if (begin_ == end_) {
      int const got = gzread(file_, part_, sizeof part_);
      if (got <= 0) {
        require_end();
        return !line.empty();
      }
      begin_ = part_, end_ = part_ + got, total_ += got;
    }
    auto const left = static_cast<std::size_t>(end_ - begin_);
    auto const* const feed = static_cast<char const*>(__builtin_memchr(begin_, '\n', left));
    auto const n = feed ? static_cast<std::size_t>(feed - begin_) : left;
    if (__builtin_memchr(begin_, '\0', n)) {
      message expected;
      fail((expected << "text in line " << line_).view(),
           "a null character, as in UTF-16 and in files of numbers");
    }
    line.append(begin_, n);
    begin_ += n + (feed != nullptr);
    if (feed) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
  }
}

LOCUS_FUNCTION std::uint32_t gzip_file::big_endian() {
  unsigned char b[4];
  read(b, 4);
  return std::uint32_t(b[0]) << 24 | std::uint32_t(b[1]) << 16 | std::uint32_t(b[2]) << 8 | b[3];
}

LOCUS_FUNCTION void gzip_file::read(void* to, std::int64_t bytes, std::int64_t before,
                                    std::int64_t wanted) {
  auto* p = static_cast<char*>(to);
  for (std::int64_t left = bytes; left > 0;) {
    unsigned const part = left < (1 << 28) ? static_cast<unsigned>(left) : 1u << 28;
    int const got = gzread(file_, p, part);
    if (got <= 0) {
      total_ -= before;
      fail_short(wanted, before + bytes - left, got);
    }
    p += got, left -= got;
  }
  total_ += bytes;
}

LOCUS_FUNCTION void gzip_file::fail_short(std::int64_t wanted, std::int64_t got, int code) const {
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

}  // namespace locus::data

LOCUS_COLD_END
