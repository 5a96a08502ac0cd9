// SPDX-License-Identifier: Apache-2.0
// Zip archives: members stored or deflated, each with its CRC, beyond 4 GiB too. Link with -lz.
#pragma once
#include <string>  // string
#include <vector>  // vector
#include <zlib.h>  // inflate, crc32_z

#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/byte_block.hpp>     // byte_block
#include <locus/runtime/atomic_file.hpp>  // atomic_file

namespace locus::data::detail {

/// units: bytes; the entry of a member in the directory of an archive
struct zip_member {
  std::string name;
  std::uint64_t packed = 0, bytes = 0, offset = 0;
  std::uint32_t crc = 0;
  unsigned method = 0, flags = 0;  // method 0: stored, 8: deflated
};

inline constexpr std::uint32_t zip_local = 0x04034b50, zip_central = 0x02014b50,
                               zip_end = 0x06054b50, zip_end64 = 0x06064b50,
                               zip_locator64 = 0x07064b50;
inline constexpr unsigned zip_utf8 = 1u << 11, zip_sizes_follow = 1u << 3, zip_encrypted = 1;

// ---- numbers, little endian ----
template <int Bytes>
std::uint64_t little(unsigned char const* p) {
  std::uint64_t v = 0;
  for (int i = Bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}
class zip_record {
 public:
  template <int Bytes>
  zip_record& put(std::uint64_t v) {
    for (int i = 0; i < Bytes; ++i) text_ += static_cast<char>(v >> (8 * i) & 255);
    return *this;
  }
  zip_record& put(std::string_view s);
  std::string const& text() const { return text_; }

 private:
  std::string text_;
};

/// means: writes members one after another, then the directory; finish() makes the file visible
/// after: APPNOTE.TXT 6.3.10 of PKWARE, the part that NumPy's savez uses; dates are those of NumPy
class zip_writer {
 public:
  static constexpr std::uint64_t most = 0xffffffff;  // larger numbers need 64 bits
  /// from64: members of that size, and offsets from there on, are written with 64 bits
  explicit zip_writer(std::string_view path, std::uint64_t from64 = most)
      : file_(path), from64_(from64) {}

  /// means: writes one member of two parts; level 0: stored, 1 to 9: deflated
  void add(std::string_view name, std::string_view head, void const* body, std::size_t bytes,
           int level);
  void finish();
  char const* path() const { return file_.path(); }

 private:
  static constexpr std::uint32_t day_one = 0x00210000;  // 1980-01-01 0:00, as NumPy writes
  static unsigned char const* pointer(void const* p);
  void write(zip_record const& r) { file_.write(r.text().data(), r.text().size()); }
  static byte_block deflated(std::string_view head, void const* body, std::size_t bytes, int level);
  static std::size_t chunk(std::size_t n) { return n < (1u << 30) ? n : 1u << 30; }

  runtime::atomic_file file_;
  std::vector<zip_member> members_;
  std::uint64_t from64_;
};

}  // namespace locus::data::detail

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/zip.hpp>  // bodies of the functions above
#endif
