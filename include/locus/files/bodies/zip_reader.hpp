// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/zip_reader.hpp declares.
#pragma once
#include <algorithm>  // sort

#include <locus/core/error.hpp>        // bad_file
#include <locus/core/macros.hpp>       // LOCUS_FUNCTION
#include <locus/files/zip_reader.hpp>  // the declarations

namespace locus::data::detail {

LOCUS_FUNCTION zip_member const* zip_reader::find(std::string_view name) const {
  for (zip_member const& m : members_)
    if (m.name == name) return &m;
  return nullptr;
}

LOCUS_FUNCTION byte_block zip_reader::read(zip_member const& m) const {
  unsigned char head[30];
  if (!file_.read_at(m.offset, head, sizeof head) || little<4>(head) != zip_local)
    fail(m.name, "a member where the directory says", "none");
  std::size_t const name_size = little<2>(head + 26), extra_size = little<2>(head + 28);
  std::string name(name_size, ' ');
  std::uint64_t const begin = m.offset + 30 + name_size + extra_size;
  if (!file_.read_at(m.offset + 30, name.data(), name_size) || name != m.name ||
      little<2>(head + 8) != m.method || little<2>(head + 6) != m.flags ||
      ((m.flags & zip_sizes_follow) == 0 && little<4>(head + 14) != m.crc))
    fail(m.name, "a member that agrees with the directory", "one that differs from it");
  if (begin > size_ || m.packed > size_ - begin)
    fail(m.name, number(m.packed) + " bytes", "the end of the file");
  // deflate packs 1032 to 1 at most: no writer makes a larger ratio
  if (m.method == 0 ? m.bytes != m.packed : m.bytes / 1040 > m.packed)
    fail(m.name, "as many bytes as were packed", number(m.bytes) + " of " + number(m.packed));
  byte_block out;
  if (m.method == 0) {
    out.resize(m.bytes);
    if (!file_.read_at(begin, out.data.get(), m.bytes)) fail(m.name, "all its bytes", "fewer");
  } else
    inflate_member(m, begin, out);
  auto const crc = static_cast<std::uint32_t>(crc32_z(0, out.data.get(), out.size));
  if (crc != m.crc)
    fail(m.name, "the check sum " + number(m.crc), number(crc) + ": its bytes were changed");
  return out;
}

LOCUS_FUNCTION void zip_reader::fail(std::string_view member, std::string_view expected,
                                     std::string_view found) const {
  message text;
  text << "locus: " << shown(path_).view();
  if (!member.empty()) text << ", member " << shown(member).view();
  throw bad_file(text << ": expected " << shown(expected).view() << ", found "
                      << shown(found).view()
                      << "; write or fetch the file again, or give another path");
}

LOCUS_FUNCTION void zip_reader::read_directory() {
  // the end record is the last one whose comment reaches the end of the file
  std::size_t const tail = size_ < 65557 ? size_ : 65557;
  byte_block end(tail);
  if (!file_.read_at(size_ - tail, end.data.get(), tail)) fail({}, "a readable file", "an error");
  unsigned char const* r = nullptr;
  std::uint64_t at = 0;
  for (std::size_t i = tail < 22 ? 0 : tail - 21; i-- > 0 && !r;)
    if (little<4>(&end.data[i]) == zip_end && little<2>(&end.data[i + 20]) == tail - i - 22)
      r = &end.data[i], at = size_ - tail + i;
  if (!r) fail({}, "a zip archive with a directory at its end", "none: it may be cut short");
  std::uint64_t entries = little<2>(r + 10), bytes = little<4>(r + 12), begin = little<4>(r + 16);
  if (little<2>(r + 4) != 0 || little<2>(r + 6) != 0 || little<2>(r + 8) != entries)
    fail({}, "an archive in one file", "a part of one");
  if (entries == 0xffff || bytes == zip_writer::most || begin == zip_writer::most) {
    unsigned char locator[20], wide[56];
    if (at < 20 || !file_.read_at(at - 20, locator, 20) || little<4>(locator) != zip_locator64 ||
        !file_.read_at(little<8>(locator + 8), wide, 56) || little<4>(wide) != zip_end64)
      fail({}, "a directory with 64 bits", "none");
    at = little<8>(locator + 8);
    entries = little<8>(wide + 32), bytes = little<8>(wide + 40), begin = little<8>(wide + 48);
    if (little<8>(wide + 24) != entries) fail({}, "an archive in one file", "a part of one");
  }
  if (begin > at || bytes != at - begin || entries > bytes / 46)
    fail({}, "a directory that ends where its end record begins", "another size");
  byte_block directory(bytes);
  if (!file_.read_at(begin, directory.data.get(), bytes)) fail({}, "a directory", "an error");
  unsigned char const *p = directory.data.get(), *const last = p + bytes;
  for (std::uint64_t i = 0; i < entries; ++i) p = read_entry(p, last);
  if (p != last) fail({}, "a directory of " + number(entries) + " members", "more");
  std::vector<std::string_view> names(members_.size());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = members_[i].name;
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i] == names[i - 1]) fail(names[i], "one member of that name", "two");
}

LOCUS_FUNCTION unsigned char const* zip_reader::read_entry(unsigned char const* p,
                                                           unsigned char const* last) {
  auto const damaged = [&] { fail({}, "a directory of members", "a damaged entry in it"); };
  if (last - p < 46 || little<4>(p) != zip_central) damaged();
  std::size_t const name = little<2>(p + 28), extra = little<2>(p + 30),
                    comment = little<2>(p + 32), all = 46 + name + extra + comment;
  if (std::size_t(last - p) < all) damaged();
  zip_member m;
  m.name.assign(reinterpret_cast<char const*>(p) + 46, name);
  m.flags = static_cast<unsigned>(little<2>(p + 8));
  m.method = static_cast<unsigned>(little<2>(p + 10));
  m.crc = static_cast<std::uint32_t>(little<4>(p + 16));
  m.packed = little<4>(p + 20), m.bytes = little<4>(p + 24), m.offset = little<4>(p + 42);
  for (unsigned char const *e = p + 46 + name, *const end = e + extra; end - e >= 4;) {
    std::size_t const id = little<2>(e), size = little<2>(e + 2);
    if (std::size_t(end - e) < 4 + size) damaged();
    if (id == 1) {  // values above 32 bits, in this order
      unsigned char const* w = e + 4;
      for (std::uint64_t* v : {&m.bytes, &m.packed, &m.offset}) {
        if (*v != zip_writer::most) continue;
        if (e + 4 + size - w < 8) damaged();
        *v = little<8>(w), w += 8;
      }
    }
    e += 4 + size;
  }
  if ((m.flags & zip_encrypted) != 0) fail(m.name, "a member in the clear", "an encrypted one");
  if (m.method != 0 && m.method != 8)
    fail(m.name, "a member that is stored or deflated", "method " + number(m.method));
  members_.push_back(std::move(m));
  return p + all;
}

LOCUS_FUNCTION void zip_reader::inflate_member(zip_member const& m, std::uint64_t begin,
                                               byte_block& out) const {
  z_stream z{};
  if (inflateInit2(&z, -15) != Z_OK)
    throw out_of_memory("locus: there is no memory to inflate a file; end what holds memory");
  std::unique_ptr<z_stream, int (*)(z_stream*)> const ends(&z, inflateEnd);
  byte_block part(m.packed < (1u << 18) ? m.packed : 1u << 18);
  std::uint64_t taken = 0;
  unsigned char beyond;  // a member that is longer than its size writes here
  for (int done = Z_OK; done != Z_STREAM_END;) {
    if (z.avail_in == 0) {
      std::size_t const n = m.packed - taken < part.size ? m.packed - taken : part.size;
      if (n > 0 && !file_.read_at(begin + taken, part.data.get(), n))
        fail(m.name, "all its bytes", "fewer");
      z.next_in = part.data.get(), z.avail_in = static_cast<unsigned>(n), taken += n;
    }
    if (z.total_out == out.size && out.size < m.bytes) out.grow_towards(m.bytes);
    std::uint64_t const left = out.size - (z.total_out < out.size ? z.total_out : out.size);
    z.next_out = left > 0 ? out.data.get() + z.total_out : &beyond;
    z.avail_out = left > 0 ? static_cast<unsigned>(left < (1u << 30) ? left : 1u << 30) : 1;
    done = inflate(&z, Z_NO_FLUSH);
    bool const stuck = done == Z_BUF_ERROR && z.avail_in == 0 && taken == m.packed;
    if ((done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) || stuck)
      fail(m.name, "deflated bytes", stuck ? "an end before theirs" : "others");
    if (z.total_out > m.bytes) break;
  }
  if (z.total_out != m.bytes || z.avail_in != 0 || taken != m.packed)
    fail(m.name, number(m.bytes) + " bytes", "another number of them");
}

}  // namespace locus::data::detail
