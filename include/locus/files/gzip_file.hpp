// SPDX-License-Identifier: Apache-2.0
// Files, gzipped or not, read through zlib: every byte that is missing or changed is noticed. Link
// with -lz.
#pragma once
#include <string>  // string
#include <zlib.h>  // gzdopen

#include <locus/core/macros.hpp>       // LOCUS_COLD_BEGIN, LOCUS_FUNCTION
#include <locus/files/byte_block.hpp>  // byte_block

LOCUS_COLD_BEGIN

namespace locus::data::detail {

/// means: the bytes of a file, or what is zipped in it
/// fails: bad_file, naming path, expected and found
class gzip_file {
 public:
  explicit gzip_file(std::string_view path);
  gzip_file(gzip_file const&) = delete;
  ~gzip_file() { gzclose(file_); }

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const;
  void read(void* to, std::int64_t bytes) { read(to, bytes, 0, bytes); }
  /// means: the next bytes, at `to(bytes)`, where that many are known to be there, else as a block
  ///        that grew with them: nobody makes room for what a header claims and the file has not
  /// cost:  a copy of the block, where the file is zipped
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
  /// the file ends here, with its check sum where it is zipped
  void require_end();
  /// means: the next line without its end; false: there is none
  /// fails: bad_file, naming the line, for one with a null character: that is no text
  bool read_line(std::string& line);
  std::uint32_t big_endian();

 private:
  /// a part of so many wanted bytes, of which some are read already
  void read(void* to, std::int64_t bytes, std::int64_t before, std::int64_t wanted);
  [[noreturn]] void fail_short(std::int64_t wanted, std::int64_t got, int code) const;
  std::string path_;
  gzFile file_;
  std::int64_t size_ = 0, total_ = 0, line_ = 0;  // size: of the file, zipped as it is
  char const *begin_ = nullptr, *end_ = nullptr;  // what is left of a part, for read_line
  char part_[8192];
};

}  // namespace locus::data::detail

LOCUS_COLD_END

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/gzip_file.hpp>  // bodies of the functions above
#endif
