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
  std::uint64_t const head =
      internal::checksum_of(&h, offsetof(tensor_header, checksum), check_prime);
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

LOCUS_FUNCTION tensor_header read_header(runtime::input_file& file, std::string_view path,
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
