// SPDX-License-Identifier: Apache-2.0
// Tensors in files: a header of 128 bytes, then the elements in row order, little endian.
#pragma once

#include <locus/core/macros.hpp>         // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/runtime/input_file.hpp>  // input_file
#include <locus/shape/element.hpp>       // element
#include <locus/shape/shape.hpp>         // shape

namespace locus::detail {

/// The header of a file. Unused numbers are 0. Version 2 has a seventh axis or an eighth; all others are
/// version 1, which older readers know.
struct tensor_header {
  static constexpr int first_axes = 6;
  static constexpr char mark[8] = {'\x89', 'L', 'O', 'C', 'U', 'S', '\r', '\n'};
  char magic[8]{};
  std::uint32_t version = 0, element_bytes = 0;
  char type[16]{};  // float, double, int32, ...; other: an element type of the program's own
  std::uint32_t rank = 0, reserved = 0;
  std::int64_t extents[first_axes]{};
  std::uint64_t
      bytes = 0,
      checksum = 0;  // of the elements; of the bytes before it, the last extents and the elements
  std::int64_t last_extents[max_rank - first_axes]{};
  char unused[8]{};

  std::int64_t extent(int a) const {
    return a < first_axes ? extents[a] : last_extents[a - first_axes];
  }
  void set_extent(int a, std::int64_t n) {
    (a < first_axes ? extents[a] : last_extents[a - first_axes]) = n;
  }
  static constexpr std::uint32_t version_of(int rank) { return rank > first_axes ? 2 : 1; }
};

LOCUS_FUNCTION std::uint64_t checksum_of(tensor_header const& h, void const* elements);

[[noreturn, gnu::cold]] LOCUS_FUNCTION void refuse_file(std::string_view path,
                                                        std::string_view expected,
                                                        std::string_view found);

/// means: writes a dense tensor of the host to a file: the whole file or none
/// fails: bad_file, with the text of the system's error; an older file of that name is then
///        unchanged
LOCUS_FUNCTION void write_tensor(std::string_view path, shape const& extents, element type,
                                 int element_bytes, void const* elements);

/// means: reads and checks the header of a file
/// fails: bad_file with path, expected and found: not a file of locus; another version, type, rank
///        or extents; another file size than the header gives
LOCUS_FUNCTION tensor_header read_header(runtime::input_file& file, std::string_view path,
                                         shape const& pattern, element type, int element_bytes);

}  // namespace locus::detail

#if LOCUS_HAS_BODIES
#include <locus/tensor/bodies/file.hpp>  // bodies of the functions above
#endif
