// SPDX-License-Identifier: Apache-2.0
// A transposed sparse matrix times dense columns on a GPU: entries are sorted by their columns, and
// a thread for each number of the result adds the entries of its column.
#pragma once
#include <locus/core/error.hpp>               // shape_error
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/sorts.hpp>         // sort_pairs
#include <locus/sparse/row_sums.hpp>          // exact_product, row_of_entry

namespace locus::sparse::cards {

LOCUS_COLD_BEGIN
[[noreturn]] inline void refuse_entries(std::int64_t entries, std::int64_t columns) {
  message text;
  throw shape_error(text << "locus: the adjoint of a sparse product with " << entries
                         << " entries and " << columns
                         << " columns is too large for a GPU, which sorts fewer than 2147483647; "
                            "multiply parts of the matrix");
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

/// Entry e as a key with its number.
template <class Index>
struct entry_keys {
  Index const* at;
  std::int32_t *keys, *entries;
  LOCUS_HOST_DEVICE void operator()(std::int64_t e) const {
    keys[e] = static_cast<std::int32_t>(at[e]);
    entries[e] = static_cast<std::int32_t>(e);
  }
};
/// Where the entries of each column begin in the sorted keys.
template <class Number>
struct column_starts {
  Number const* keys;
  std::int64_t n;
  Number* starts;
  LOCUS_HOST_DEVICE void operator()(std::int64_t column) const {
    std::int64_t low = 0, high = n;  // keys in front of low are below column, those from high not
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      (keys[middle] < column ? low : high) = keys[middle] < column ? middle + 1 : middle;
    }
    starts[column] = static_cast<Number>(low);
  }
};
/// Number k of the result (columns, wide).
template <class T, class Index>
struct column_sums {
  std::int64_t rows, wide;
  Index const* offsets;
  std::int32_t const *starts, *entries;
  T const *values, *g;
  T* r;
  LOCUS_HOST_DEVICE void operator()(std::int64_t k) const {
    std::int64_t const column = k / wide, c = k % wide;
    double sum = 0;
    for (std::int64_t j = starts[column]; j < starts[column + 1]; ++j) {
      std::int64_t const e = entries[j], row = row_of_entry(offsets, rows, e);
      sum += exact_product(values[e], g[row * wide + c]);
    }
    r[k] = static_cast<T>(sum);
  }
};

/// means: as host::turned_times, bit for bit
template <class T, class Index>
void turned_times(card_context& here, std::int64_t rows, std::int64_t n, Index const* offsets,
                  Index const* at, T const* values, T const* g, std::int64_t wide, T* r,
                  std::int64_t columns) {
  using number = std::int32_t;
  std::int64_t const most = 2147483646;
  if (n > most || columns > most) refuse_entries(n, columns);
  number* const keys = here.take<number>(n);
  number* const entries = here.take<number>(n);
  number* const sorted = here.take<number>(n);
  number* const order = here.take<number>(n);
  number* const starts = here.take<number>(columns + 1);
  int bits = 1;
  while (bits < 31 && columns >> bits) ++bits;
  here.each(n, entry_keys<Index>{at, keys, entries});
  here.run(cuda_side::sort_pairs<number, number>{n, keys, entries, sorted, order, bits});
  here.each(columns + 1, column_starts<number>{sorted, n, starts});
  here.each(columns * wide,
            column_sums<T, Index>{rows, wide, offsets, starts, order, values, g, r});
}

}  // namespace LOCUS_MODE
}  // namespace locus::sparse::cards
