// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that tensor/file.hpp declares.
#pragma once
#include <cstring>  // memcpy

#include <locus/core/checksum.hpp>        // check_prime
#include <locus/core/error.hpp>           // bad_file
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION
#include <locus/runtime/atomic_file.hpp>  // atomic_file
#include <locus/tensor/file.hpp>          // the declarations

namespace locus::detail {

LOCUS_FUNCTION std::uint64_t checksum_of(tensor_header const& h, void const* elements) {
  std::uint64_t head = internal::checksum_of(&h, offsetof(tensor_header, checksum), check_prime);
  if (h.version > 1) head = internal::checksum_of(h.last_extents, sizeof h.last_extents, head);
  return internal::checksum_of(elements, static_cast<std::size_t>(h.bytes), head);
}

LOCUS_FUNCTION void refuse_file(std::string_view path, std::string_view expected,
                                std::string_view found) {
  message text;
  throw bad_file(text << "locus: " << shown(path).view() << ": expected " << expected << ", found "
                      << shown(found).view() << "; write the file again, or give another path");
}

LOCUS_FUNCTION void write_tensor(std::string_view path, shape const& extents, element type,
                                 int element_bytes, void const* elements) {
  tensor_header h;
  std::memcpy(h.magic, h.mark, sizeof h.magic);
  h.version = h.version_of(extents.rank),
  h.element_bytes = static_cast<std::uint32_t>(element_bytes);
  std::string_view const name = row_of(type).name;
  std::memcpy(h.type, name.data(), name.size());
  h.rank = static_cast<std::uint32_t>(extents.rank);
  for (int a = 0; a < extents.rank; ++a) h.set_extent(a, extents.extent[a]);
  h.bytes = static_cast<std::uint64_t>(extents.size() * element_bytes);
  h.checksum = checksum_of(h, elements);

  runtime::atomic_file file(path);
  file.write(&h, sizeof h);
  file.write(elements, h.bytes);
  file.commit();
}

LOCUS_FUNCTION tensor_header read_header(runtime::input_file& file, std::string_view path,
                                         shape const& pattern, element type, int element_bytes) {
  tensor_header h;
  message expected, found;
  if (!file.read(&h, sizeof h))
    refuse_file(path, "128 bytes that say what follows", (found << file.size() << " bytes").view());
  if (std::memcmp(h.magic, h.mark, sizeof h.magic) != 0)
    refuse_file(path, "a tensor that locus wrote", "other first bytes");
  if (h.version != 1 && h.version != 2)
    refuse_file(path, "version 1 or 2", (found << "version " << std::int64_t(h.version)).view());
  std::string_view const name = row_of(type).name, all(h.type, sizeof h.type),
                         written = all.substr(0, find_char(all, '\0'));
  if (written != name || h.element_bytes != static_cast<std::uint32_t>(element_bytes))
    refuse_file(path, (expected << name << " of " << element_bytes << " bytes").view(),
                (found << written << " of " << std::int64_t(h.element_bytes) << " bytes").view());
  if (h.rank != static_cast<std::uint32_t>(pattern.rank) || h.version != h.version_of(pattern.rank))
    refuse_file(path, (expected << "rank " << pattern.rank).view(),
                (found << "rank " << std::int64_t(h.rank)).view());
  std::int64_t bytes = element_bytes;
  shape there{pattern.rank, {}};
  for (int a = 0; a < pattern.rank; ++a) there.extent[a] = h.extent(a);
  bool fits = bytes_of_extents(there.extent, h.rank, bytes);
  for (int a = 0; a < pattern.rank; ++a) {
    if (there.extent[a] == 0) bytes = 0;
    fits = fits && (pattern.extent[a] == dyn || pattern.extent[a] == there.extent[a]);
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
