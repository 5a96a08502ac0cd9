// SPDX-License-Identifier: Apache-2.0
// Files, gzipped or not, read through zlib, which reports missing and changed bytes. Link with -lz.
#pragma once
#include <string>  // string
#include <zlib.h>  // gzdopen

#include <locus/core/macros.hpp>       // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/files/byte_block.hpp>  // byte_block

LOCUS_COLD_BEGIN

namespace locus::data {

/// means: reads the bytes of a file, unzipped if it is gzipped
/// fails: bad_file, naming path, expected and found
class gzip_file {
 public:
  explicit gzip_file(std::string_view path);
  gzip_file(gzip_file const&) = delete;
  ~gzip_file() { gzclose(file_); }

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const;
  void read(void* to, std::int64_t bytes) { read(to, bytes, 0, bytes); }
  /// means: reads the next bytes. If the file certainly has them, directly into `to(bytes)`;
  ///        otherwise into a block that grows while bytes come, so that a wrong size in a header
  ///        does not allocate that much
  /// cost:  a copy of the block, if the file is zipped
  template <class To>
  void read_claimed(std::int64_t bytes, To&& to) {
    if (gzdirect(file_)) {
      if (bytes > size_ - total_) fail_short(bytes, size_ - total_, 0);
      return read(to(), bytes);
    }
    byte_block block;
    while (static_cast<std::int64_t>(block.size) < bytes) {
      std::size_t const had = block.size;
      block.grow_towards(static_cast<std::size_t>(bytes));
      read(block.data.get() + had, static_cast<std::int64_t>(block.size - had),
           static_cast<std::int64_t>(had), bytes);
    }
    if (bytes > 0) __builtin_memcpy(to(), block.data.get(), block.size);
  }
  /// the file must end here; of a gzipped file this checks the check sum
  void require_end();
  /// means: the next line without its line end; false: there is none
  /// fails: bad_file, naming the line, for a null character: the file is no text
  bool read_line(std::string& line);
  std::uint32_t big_endian();

 private:
  /// reads `bytes` of `wanted` bytes, of which `before` are read already
  void read(void* to, std::int64_t bytes, std::int64_t before, std::int64_t wanted);
  [[noreturn]] void fail_short(std::int64_t wanted, std::int64_t got, int code) const;
  std::string path_;
  gzFile file_;
  std::int64_t size_ = 0, total_ = 0, line_ = 0;  // size: of the file on disk
  char const *begin_ = nullptr, *end_ = nullptr;  // the unread rest of a buffer, for read_line
  char part_[8192];
};

}  // namespace locus::data

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/gzip_file.hpp>  // bodies of the functions above
#endif
