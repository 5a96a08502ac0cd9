// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/zip.hpp declares.
#pragma once
#include <utility>  // move

#include <locus/core/macros.hpp>  // LOCUS_FUNCTION
#include <locus/files/zip.hpp>    // the declarations

namespace locus::data::detail {

LOCUS_FUNCTION zip_record& zip_record::put(std::string_view s) {
  text_ += s;
  return *this;
}

LOCUS_FUNCTION void zip_writer::add(std::string_view name, std::string_view head, void const* body,
                                    std::size_t bytes, int level) {
  zip_member m;
  m.name = name, m.offset = file_.size(), m.bytes = head.size() + bytes;
  m.crc = static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, pointer(head.data()), head.size()), pointer(body), bytes));
  for (char const c : name)
    if (static_cast<unsigned char>(c) > 127) m.flags = zip_utf8;
  byte_block packed;
  if (level > 0) packed = deflated(head, body, bytes, level);
  m.method = level > 0 ? 8 : 0, m.packed = level > 0 ? packed.size : m.bytes;

  bool const wide = m.bytes >= from64_ || m.packed >= from64_;
  zip_record r;
  r.put<4>(zip_local).put<2>(wide ? 45 : 20).put<2>(m.flags).put<2>(m.method);
  r.put<4>(day_one).put<4>(m.crc);
  r.put<4>(wide ? most : m.packed).put<4>(wide ? most : m.bytes);
  r.put<2>(name.size()).put<2>(wide ? 20 : 0).put(name);
  if (wide) r.put<2>(1).put<2>(16).put<8>(m.bytes).put<8>(m.packed);
  write(r);
  if (level > 0)
    file_.write(packed.data.get(), packed.size);
  else
    file_.write(head.data(), head.size()), file_.write(body, bytes);
  members_.push_back(std::move(m));
}

LOCUS_FUNCTION void zip_writer::finish() {
  std::uint64_t const begin = file_.size();
  for (zip_member const& m : members_) {
    bool const wide = m.bytes >= from64_ || m.packed >= from64_ || m.offset >= from64_;
    zip_record r;
    r.put<4>(zip_central).put<2>(3 << 8 | 45).put<2>(wide ? 45 : 20).put<2>(m.flags);
    r.put<2>(m.method).put<4>(day_one).put<4>(m.crc);
    r.put<4>(wide ? most : m.packed).put<4>(wide ? most : m.bytes);
    r.put<2>(m.name.size()).put<2>(wide ? 28 : 0).put<2>(0).put<2>(0).put<2>(0);
    r.put<4>(std::uint64_t(0100600) << 16).put<4>(wide ? most : m.offset).put(m.name);
    if (wide) r.put<2>(1).put<2>(24).put<8>(m.bytes).put<8>(m.packed).put<8>(m.offset);
    write(r);
  }
  std::uint64_t const end = file_.size(), n = members_.size();
  bool const wide = end >= from64_ || n >= 0xffff;
  zip_record r;
  if (wide) {
    r.put<4>(zip_end64).put<8>(44).put<2>(3 << 8 | 45).put<2>(45).put<4>(0).put<4>(0);
    r.put<8>(n).put<8>(n).put<8>(end - begin).put<8>(begin);
    r.put<4>(zip_locator64).put<4>(0).put<8>(end).put<4>(1);
  }
  std::uint64_t const count = wide ? 0xffff : n;
  r.put<4>(zip_end).put<2>(0).put<2>(0).put<2>(count).put<2>(count);
  r.put<4>(wide ? most : end - begin).put<4>(wide ? most : begin).put<2>(0);
  write(r);
  file_.commit();
}

LOCUS_FUNCTION unsigned char const* zip_writer::pointer(void const* p) {
  static constexpr unsigned char nothing = 0;  // crc32_z returns the initial sum for a null pointer
  return p ? static_cast<unsigned char const*>(p) : &nothing;
}

LOCUS_FUNCTION byte_block zip_writer::deflated(std::string_view head, void const* body,
                                               std::size_t bytes, int level) {
  z_stream z{};
  if (deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw out_of_memory("locus: there is no memory to deflate a file; end what holds memory");
  std::unique_ptr<z_stream, int (*)(z_stream*)> const ends(&z, deflateEnd);
  std::size_t const all = head.size() + bytes, room = all + all / 8 + 1024;  // deflate needs less
  byte_block out(room);
  auto feed = [&](void const* from, std::size_t n, bool last) {
    int done = Z_OK;
    for (auto const* p = pointer(from); n > 0 || (last && done != Z_STREAM_END);) {
      std::size_t const part = chunk(n);
      z.next_in = const_cast<unsigned char*>(p), z.avail_in = static_cast<unsigned>(part);
      z.next_out = out.data.get() + z.total_out;
      z.avail_out = static_cast<unsigned>(chunk(room - z.total_out));
      done = deflate(&z, last && part == n ? Z_FINISH : Z_NO_FLUSH);
      if (done == Z_STREAM_ERROR)
        throw out_of_memory("locus: there is no memory to deflate a file; end what holds memory");
      p += part - z.avail_in, n -= part - z.avail_in;
    }
  };
  feed(head.data(), head.size(), false);
  feed(body, bytes, true);
  out.size = z.total_out;
  return out;
}

}  // namespace locus::data::detail
