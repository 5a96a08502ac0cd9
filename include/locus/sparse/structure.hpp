// SPDX-License-Identifier: Apache-2.0
// The checks of a sparse matrix: offsets that rise from 0 to the number of entries, columns inside.
#pragma once
#include <limits>  // numeric_limits

#include <locus/core/error.hpp>   // shape_error
#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN
#include <locus/shape/shape.hpp>  // shape

namespace locus::sparse {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_lengths(std::int64_t values, std::int64_t columns) {
  message text;
  throw shape_error(text << "locus: a sparse matrix has " << values << " values and " << columns
                         << " columns of entries; give one column for each value");
}
[[noreturn]] inline void refuse_offsets(std::int64_t offsets, std::int64_t rows) {
  message text;
  throw shape_error(text << "locus: a sparse matrix of " << rows << " rows has " << offsets
                         << " offsets; give " << rows + 1
                         << ": where each row begins, and the number of entries");
}
[[noreturn]] inline void refuse_first(std::int64_t first) {
  message text;
  throw shape_error(text << "locus: the offsets of a sparse matrix begin with " << first
                         << "; row 0 begins with entry 0");
}
[[noreturn]] inline void refuse_fall(std::int64_t row, std::int64_t from, std::int64_t to) {
  message text;
  throw shape_error(text << "locus: row " << row << " of a sparse matrix begins with entry " << from
                         << " and ends in front of entry " << to << "; offsets do not fall");
}
[[noreturn]] inline void refuse_last(std::int64_t last, std::int64_t entries) {
  message text;
  throw shape_error(text << "locus: the offsets of a sparse matrix end with " << last
                         << ", and it has " << entries
                         << " entries; the last offset is their number");
}
[[noreturn]] inline void refuse_column(std::int64_t entry, std::int64_t row, std::int64_t column,
                                       std::int64_t columns) {
  message text;
  text << "locus: entry " << entry << " of a sparse matrix (row " << row << ") has column "
       << column << "; ";
  if (columns > 0)
    text << "columns are 0 to " << columns - 1;
  else
    text << "a matrix without columns has no entries";
  throw shape_error(text);
}
[[noreturn]] inline void refuse_row(std::int64_t entry, std::int64_t row, std::int64_t rows) {
  message text;
  text << "locus: triplet " << entry << " of a sparse matrix has row " << row << "; ";
  if (rows > 0)
    text << "rows are 0 to " << rows - 1;
  else
    text << "a matrix without rows has no entries";
  throw shape_error(text);
}
[[noreturn]] inline void refuse_numbers(std::int64_t entries, std::int64_t columns) {
  message text;
  throw shape_error(text << "locus: a sparse matrix with " << entries << " entries and " << columns
                         << " columns does not fit indices of 32 bits; make it with std::int64_t "
                            "as its index type");
}
LOCUS_COLD_END

/// fails: shape_error, where Index does not count as many entries or columns
template <class Index>
void require_numbers(std::int64_t entries, std::int64_t columns) {
  if constexpr (sizeof(Index) < sizeof(std::int64_t)) {
    constexpr std::int64_t most = (std::numeric_limits<Index>::max)();
    if (entries > most || columns > most) refuse_numbers(entries, columns);
  }
}

/// fails: shape_error, where lengths do not fit
inline void require_lengths(std::int64_t rows, std::int64_t values, std::int64_t columns,
                            std::int64_t offsets) {
  if (values != columns) refuse_lengths(values, columns);
  if (offsets != rows + 1) refuse_offsets(offsets, rows);
}
/// fails: shape_error, for the first offset that falls, and for the first column outside
/// shape: columns (entries), offsets (rows + 1), both on the host
template <class Index>
void require_structure(std::int64_t rows, std::int64_t width, std::int64_t entries,
                       Index const* columns, Index const* offsets) {
  if (offsets[0] != 0) refuse_first(offsets[0]);
  for (std::int64_t i = 0; i < rows; ++i)
    if (offsets[i + 1] < offsets[i]) refuse_fall(i, offsets[i], offsets[i + 1]);
  if (offsets[rows] != entries) refuse_last(offsets[rows], entries);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      if (columns[e] < 0 || columns[e] >= width) refuse_column(e, i, columns[e], width);
}

}  // namespace locus::sparse
