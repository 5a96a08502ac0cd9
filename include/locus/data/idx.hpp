// SPDX-License-Identifier: Apache-2.0
// IDX files, gzipped or not, as MNIST and its kin come: read through zlib. Link with -lz.
#pragma once
#include <cerrno>   // errno
#include <cstring>  // strerror
#include <zlib.h>   // gzopen

#include <locus/core/error.hpp>     // bad_file
#include <locus/tensor/tensor.hpp>  // Tensor

namespace locus::data {

namespace detail {

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

}  // namespace detail

/// means: the unsigned bytes of an IDX file as a tensor of rank Rank on the host
/// fails: bad_file: path, expected, found; for a file that is missing, truncated, too long, or of
///        another type or rank
/// after: the IDX format: 0, 0, type (8: unsigned byte), rank, extents big endian, elements in row
///        order
template <int Rank>
Tensor<std::uint8_t, Dextents<Rank>, CpuDevice> read_idx(char const* path,
                                                         call_site where = call_site::here()) {
  detail::gzip_file file(path);
  unsigned char head[4];
  file.read(head, 4);
  message found;
  if (head[0] != 0 || head[1] != 0)
    file.fail("an IDX file, which begins with two zero bytes",
              (found << "bytes " << int(head[0]) << " and " << int(head[1])).view());
  if (head[2] != 8)
    file.fail("elements of type 8 (unsigned byte)", (found << "type " << int(head[2])).view());
  if (head[3] != Rank) {
    message expected;
    file.fail((expected << "rank " << Rank).view(), (found << "rank " << int(head[3])).view());
  }
  shape s{Rank, {}};
  std::int64_t size = 1;
  for (int a = 0; a < Rank; ++a) {
    s.extent[a] = file.big_endian();
    if (__builtin_mul_overflow(size, s.extent[a], &size) || size > (std::int64_t(1) << 40))
      file.fail("at most 2^40 elements", (found << "extents " << s).view());
  }
  Tensor<std::uint8_t, Dextents<Rank>, CpuDevice> t(Dextents<Rank>(s), where);
  file.read(t.data(), size);
  file.require_end();
  return t;
}

}  // namespace locus::data
