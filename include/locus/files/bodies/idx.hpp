// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that files/idx.hpp declares.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION, LOCUS_COLD_BEGIN
#include <locus/files/idx.hpp>    // the declarations

LOCUS_COLD_BEGIN

namespace locus::data::detail {

LOCUS_FUNCTION shape read_idx_head(gzip_file& file, int code, char const* type, int rank) {
  unsigned char head[4];
  file.read(head, 4);
  message found;
  if (head[0] != 0 || head[1] != 0)
    file.fail("an IDX file, which begins with two zero bytes",
              (found << "bytes " << int(head[0]) << " and " << int(head[1])).view());
  if (head[2] != code) {
    message expected;
    file.fail((expected << "elements of type " << std::string_view(type)).view(),
              (found << "type " << int(head[2])).view());
  }
  if (head[3] != rank) {
    message expected;
    file.fail((expected << "rank " << rank).view(), (found << "rank " << int(head[3])).view());
  }
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a) s.extent[a] = file.big_endian();
  std::int64_t size = 1;
  if (!bytes_of_extents(s.extent, static_cast<std::size_t>(rank), size) ||
      size > (std::int64_t(1) << 40))
    file.fail("at most 2^40 elements", (found << "extents " << s).view());
  return s;
}

}  // namespace locus::data::detail

LOCUS_COLD_END
