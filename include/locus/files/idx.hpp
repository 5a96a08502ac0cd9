// SPDX-License-Identifier: Apache-2.0
// IDX files, gzipped or not, such as MNIST: read through zlib. Link with -lz.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_FUNCTION, LOCUS_HAS_TRAINING_BODIES
#include <locus/files/read_elements.hpp>  // read_elements

namespace locus::data {

namespace detail {

/// an element type of IDX: its code in the file and its name
template <class T>
struct idx_type;
template <>
struct idx_type<std::uint8_t> {
  static constexpr int code = 0x08;
  static constexpr char const* name = "8 (unsigned byte)";
};
template <>
struct idx_type<std::int8_t> {
  static constexpr int code = 0x09;
  static constexpr char const* name = "9 (signed byte)";
};
template <>
struct idx_type<std::int16_t> {
  static constexpr int code = 0x0B;
  static constexpr char const* name = "11 (int16)";
};
template <>
struct idx_type<std::int32_t> {
  static constexpr int code = 0x0C;
  static constexpr char const* name = "12 (int32)";
};
template <>
struct idx_type<float> {
  static constexpr int code = 0x0D;
  static constexpr char const* name = "13 (float)";
};
template <>
struct idx_type<double> {
  static constexpr int code = 0x0E;
  static constexpr char const* name = "14 (double)";
};

template <class T>
void from_big_endian(T* p, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    unsigned char from[sizeof(T)], to[sizeof(T)];
    __builtin_memcpy(from, p + i, sizeof(T));
    for (std::size_t k = 0; k < sizeof(T); ++k) to[k] = from[sizeof(T) - 1 - k];
    __builtin_memcpy(p + i, to, sizeof(T));
  }
}

LOCUS_COLD_BEGIN
/// means: reads the header of an IDX file of that type and rank; returns the extents
LOCUS_FUNCTION shape read_idx_head(gzip_file& file, int code, char const* type, int rank);
LOCUS_COLD_END

}  // namespace detail

/// means: the elements of an IDX file as a tensor of rank Rank on the host
/// cost:  memory for the bytes of the file, whatever its header claims; twice that for a gzipped
///        file
/// fails: bad_file with path, expected and found: the file is missing, truncated, too long, or has
///        another type or rank
/// after: the IDX format: 0, 0, type (8: unsigned byte ... 14: double), rank, extents big endian,
///        elements big endian in row order
template <int Rank, class T = std::uint8_t>
Tensor<T, Dextents<Rank>, CpuDevice> read_idx(std::string_view path,
                                              call_site where = call_site::here()) {
  using type = detail::idx_type<T>;
  gzip_file file(path);
  shape const s = detail::read_idx_head(file, type::code, type::name, Rank);
  auto t = read_elements<T>(file, Dextents<Rank>(s), where);
  if constexpr (sizeof(T) > 1) detail::from_big_endian(t.data(), s.size());
  return t;
}

}  // namespace locus::data

#if LOCUS_HAS_TRAINING_BODIES
#include <locus/files/bodies/idx.hpp>  // bodies of the functions above
#endif
