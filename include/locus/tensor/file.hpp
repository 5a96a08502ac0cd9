// SPDX-License-Identifier: Apache-2.0
// Tensors in files: 128 bytes that say what follows, then the elements in row order, little endian.
#pragma once
#include <cstring>  // memcpy

#include <locus/core/checksum.hpp>        // checksum_of
#include <locus/core/error.hpp>           // bad_file
#include <locus/runtime/atomic_file.hpp>  // atomic_file
#include <locus/runtime/input_file.hpp>   // input_file
#include <locus/shape/element.hpp>        // element, row_of
#include <locus/shape/shape.hpp>          // shape

namespace locus::detail {

/// The first bytes of a file. A number that is not there is 0.
struct tensor_header {
  static constexpr char mark[8] = {'\x89', 'L', 'O', 'C', 'U', 'S', '\r', '\n'};
  static constexpr std::uint32_t current = 1;
  char magic[8]{};
  std::uint32_t version = 0, element_bytes = 0;
  char type[16]{};  // float, double, int32, ...; other: a type of the user's own
  std::uint32_t rank = 0, reserved = 0;
  std::int64_t extents[max_rank]{};
  std::uint64_t bytes = 0,
                checksum = 0;  // of the elements; of the bytes before it and the elements
  char unused[24]{};
};

inline std::uint64_t checksum_of(tensor_header const& h, void const* elements) {
  std::uint64_t const head = checksum_of(&h, offsetof(tensor_header, checksum), check_prime);
  return checksum_of(elements, static_cast<std::size_t>(h.bytes), head);
}

[[noreturn, gnu::cold]] inline void refuse_file(std::string_view path, std::string_view expected,
                                                std::string_view found) {
  message text;
  throw bad_file(text << "locus: " << shown(path).view() << ": expected " << expected << ", found "
                      << shown(found).view() << "; write the file again, or give another path");
}

/// means: the elements of a dense tensor on the host in a file that is there as a whole or not at all
/// fails: bad_file, with the words of the system; what was there before is still there then
inline void write_tensor(std::string_view path, shape const& extents, element type,
                         int element_bytes, void const* elements) {
  tensor_header h;
  std::memcpy(h.magic, h.mark, sizeof h.magic);
  h.version = h.current, h.element_bytes = static_cast<std::uint32_t>(element_bytes);
  std::string_view const name = row_of(type).name;
  std::memcpy(h.type, name.data(), name.size());
  h.rank = static_cast<std::uint32_t>(extents.rank);
  for (int a = 0; a < extents.rank; ++a) h.extents[a] = extents.extent[a];
  h.bytes = static_cast<std::uint64_t>(extents.size() * element_bytes);
  h.checksum = checksum_of(h, elements);

  runtime::atomic_file file(path);
  file.write(&h, sizeof h);
  file.write(elements, h.bytes);
  file.commit();
}

/// means: what a file holds, before its elements are read
/// fails: bad_file: path, expected, found: none of locus, another version, type, rank or
///        extents, or of another size than it says
inline tensor_header read_header(runtime::input_file& file, std::string_view path,
                                 shape const& pattern, element type, int element_bytes) {
  tensor_header h;
  message expected, found;
  if (!file.read(&h, sizeof h))
    refuse_file(path, "128 bytes that say what follows", (found << file.size() << " bytes").view());
  if (std::memcmp(h.magic, h.mark, sizeof h.magic) != 0)
    refuse_file(path, "a tensor that locus wrote", "other first bytes");
  if (h.version != h.current)
    refuse_file(path, (expected << "version " << std::int64_t(h.current)).view(),
                (found << "version " << std::int64_t(h.version)).view());
  std::string_view const name = row_of(type).name, all(h.type, sizeof h.type),
                         written = all.substr(0, find_char(all, '\0'));
  if (written != name || h.element_bytes != static_cast<std::uint32_t>(element_bytes))
    refuse_file(path, (expected << name << " of " << element_bytes << " bytes").view(),
                (found << written << " of " << std::int64_t(h.element_bytes) << " bytes").view());
  if (h.rank != static_cast<std::uint32_t>(pattern.rank))
    refuse_file(path, (expected << "rank " << pattern.rank).view(),
                (found << "rank " << std::int64_t(h.rank)).view());
  std::int64_t bytes = element_bytes;
  bool fits = bytes_of_extents(h.extents, h.rank, bytes);
  shape there{pattern.rank, {}};
  for (int a = 0; a < pattern.rank; ++a) {
    there.extent[a] = h.extents[a];
    if (h.extents[a] == 0) bytes = 0;
    fits = fits && (pattern.extent[a] == dyn || pattern.extent[a] == h.extents[a]);
  }
  if (!fits)
    refuse_file(path, (expected << "extents " << pattern).view(),
                (found << "extents " << there).view());
  if (auto const b = static_cast<std::uint64_t>(bytes); h.bytes != b || file.size() != b + 128)
    refuse_file(path, (expected << bytes + 128 << " bytes for extents " << there).view(),
                (found << file.size()).view());
  return h;
}

}  // namespace locus::detail
