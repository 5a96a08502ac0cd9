// SPDX-License-Identifier: Apache-2.0
// Sums over the entries of a row, in one order on the host and on GPUs.
#pragma once
#include <locus/core/macros.hpp>    // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/work/rounding.hpp>  // rounded_product

namespace locus::sparse {
inline namespace LOCUS_MODE {

/// means: a b as a double that no compiler fuses with a sum; a product of floats is exact
template <class T>
LOCUS_HOST_DEVICE inline double exact_product(T a, T b) {
  if constexpr (sizeof(T) == sizeof(double))
    return kernel::rounded_product(a, b);
  else
    return double(a) * double(b);
}

/// means: the sum of values[e] x[columns[e]] over e in [e, end). A row of 64 entries and more has
///        four sums, of the entries 0, 4, 8...; 1, 5, 9...; 2...; 3..., which do not wait for each
///        other: then (0 + 1) + (2 + 3), and the last entries, fewer than four, behind it
/// units: all sums in double
template <class T, class Index>
LOCUS_HOST_DEVICE inline double sum_of_row(T const* values, Index const* columns, T const* x,
                                           std::int64_t e, std::int64_t end) {
  double sum = 0;
  if (end - e >= 64) {
    double b = 0, c = 0, d = 0;
    for (; e + 4 <= end; e += 4) {
      sum += exact_product(values[e], x[columns[e]]);
      b += exact_product(values[e + 1], x[columns[e + 1]]);
      c += exact_product(values[e + 2], x[columns[e + 2]]);
      d += exact_product(values[e + 3], x[columns[e + 3]]);
    }
    sum = (sum + b) + (c + d);
  }
  for (; e < end; ++e) sum += exact_product(values[e], x[columns[e]]);
  return sum;
}

/// means: the sum of values[e] x[columns[e], k] over e in [e, end), in the order of the row
/// shape: x (columns, wide)
template <class T, class Index>
LOCUS_HOST_DEVICE inline double sum_of_row(T const* values, Index const* columns, T const* x,
                                           std::int64_t e, std::int64_t end, std::int64_t k,
                                           std::int64_t wide) {
  double sum = 0;
  for (; e < end; ++e)
    sum += exact_product(values[e], x[static_cast<std::int64_t>(columns[e]) * wide + k]);
  return sum;
}

/// means: the sum of a[c] b[c], in the order of c     shape: a, b (wide)
template <class T>
LOCUS_HOST_DEVICE inline double product_of_rows(T const* a, T const* b, std::int64_t wide) {
  double sum = 0;
  for (std::int64_t c = 0; c < wide; ++c) sum += exact_product(a[c], b[c]);
  return sum;
}

/// means: the first row that begins behind entry e, less 1: the row of entry e
/// shape: offsets (rows + 1), from 0 on, not falling
template <class Index>
LOCUS_HOST_DEVICE inline std::int64_t row_of_entry(Index const* offsets, std::int64_t rows,
                                                   std::int64_t e) {
  std::int64_t low = 0, high = rows;  // offsets[low] <= e < offsets[high]
  while (high - low > 1) {
    std::int64_t const middle = low + (high - low) / 2;
    (offsets[middle] <= e ? low : high) = middle;
  }
  return low;
}

}  // namespace LOCUS_MODE
}  // namespace locus::sparse
