// SPDX-License-Identifier: Apache-2.0
// Products of a sparse matrix on the host: rows on several threads, balanced by their entries.
#pragma once
#include <locus/core/macros.hpp>            // LOCUS_MODE, LOCUS_KEEP_APART
#include <locus/engine/host/workspace.hpp>  // workspace
#include <locus/runtime/threads.hpp>        // parallel_for, threads_worth
#include <locus/simd/instructions.hpp>      // LOCUS_ISA_AVX
#include <locus/simd/vectors.hpp>           // LOCUS_VECTORS_BEGIN
#include <locus/sparse/row_sums.hpp>        // sum_of_row

namespace locus::sparse::host {
inline namespace LOCUS_MODE {

template <class T>
struct workspace : locus::host::workspace<T> {
  explicit workspace(std::int64_t numbers)
      : locus::host::workspace<T>(numbers, "a sparse matrix; give it fewer columns") {}
};

/// means: body(first, last) for ranges that hold all rows; a row weighs its entries, and 2 for itself
/// units: nanoseconds of one entry
template <class Index, class Body>
void for_rows(std::int64_t rows, Index const* offsets, float each, Body const& body) {
  if (rows <= 0) return;
  auto const weight = [&](std::int64_t row) {
    return static_cast<std::int64_t>(offsets[row]) + 2 * row;
  };
  std::int64_t const all = weight(rows);
  int const threads = threads_worth(static_cast<float>(all) * each);
  if (threads <= 1) return body(std::int64_t(0), rows);
  int const tasks = 4 * threads;
  auto const first_of = [&](int task) {  // the first row with at least this weight in front of it
    std::int64_t const wanted = all / tasks * task;
    std::int64_t low = 0, high = rows;
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      if (weight(middle) < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  parallel_for(tasks, threads, [&](int task) {
    std::int64_t const first = first_of(task), last = task + 1 < tasks ? first_of(task + 1) : rows;
    if (first < last) body(first, last);
  });
}

/// means: y[i] = the sum of row i times x
/// shape: offsets (rows + 1), y (rows)
template <class T, class Index>
void times_vector(std::int64_t rows, Index const* offsets, Index const* columns, T const* values,
                  T const* x, T* y) {
  for_rows(rows, offsets, 0.6f, [=](std::int64_t first, std::int64_t last) {
    std::int64_t e = offsets[first];
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t const end = offsets[i + 1];
      y[i] = static_cast<T>(sum_of_row(values, columns, x, e, end));
      e = end;
    }
  });
}

#if LOCUS_ISA_AVX512
inline constexpr int lane_count = 8;
#elif LOCUS_ISA_AVX
inline constexpr int lane_count = 4;
#else
inline constexpr int lane_count = 2;
#endif

LOCUS_VECTORS_BEGIN
/// Columns of one row of a product: lane_count of them for each of Count vectors.
template <class T, int Count>
struct row_block {
  typedef double lanes __attribute__((vector_size(lane_count * sizeof(double))));
  typedef T part __attribute__((vector_size(lane_count * sizeof(T))));

  /// means: y[c] = the sum of values[e] x[columns[e], c] over the row, for all columns c of the block
  template <class Index>
  static void run(T const* values, Index const* columns, T const* x, std::int64_t e,
                  std::int64_t end, std::int64_t wide, T* y) {
    lanes sums[Count] = {};
    for (; e < end; ++e) {
      double const value = values[e];
      T const* const row = x + static_cast<std::int64_t>(columns[e]) * wide;
      for (int k = 0; k < Count; ++k) {
        part numbers;
        __builtin_memcpy(&numbers, row + k * lane_count, sizeof(part));
        lanes product = value * __builtin_convertvector(numbers, lanes);
        if constexpr (sizeof(T) == sizeof(double)) LOCUS_KEEP_APART(product);
        sums[k] += product;
      }
    }
    for (int k = 0; k < Count; ++k) {
      part const numbers = __builtin_convertvector(sums[k], part);
      __builtin_memcpy(y + k * lane_count, &numbers, sizeof(part));
    }
  }
};
LOCUS_VECTORS_END

/// means: y[i, c] = the sum of row i times column c of x, in the order of the row
/// shape: x (columns, wide), y (rows, wide)
template <class T, class Index>
void times_matrix(std::int64_t rows, Index const* offsets, Index const* columns, T const* values,
                  T const* x, std::int64_t wide, T* y) {
  float const each = 0.6f + 0.15f * static_cast<float>(wide);
  for_rows(rows, offsets, each, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t const begin = offsets[i], end = offsets[i + 1];
      T* const to = y + i * wide;
      std::int64_t c = 0;
      for (; c + 4 * lane_count <= wide; c += 4 * lane_count)
        row_block<T, 4>::run(values, columns, x + c, begin, end, wide, to + c);
      for (; c + lane_count <= wide; c += lane_count)
        row_block<T, 1>::run(values, columns, x + c, begin, end, wide, to + c);
      for (; c < wide; ++c)
        to[c] = static_cast<T>(sum_of_row(values, columns, x, begin, end, c, wide));
    }
  });
}

/// means: r[j, c] = the sum of values[e] g[row of e, c] over the entries e of column j, in the order
///        of the rows
/// shape: g (rows, wide), r (count, wide)
/// cost:  one pass over the entries on one thread for each 8 columns of g, which go to several
///        threads
template <class T, class Index>
void turned_times(std::int64_t rows, Index const* offsets, Index const* columns, T const* values,
                  T const* g, std::int64_t wide, T* r, std::int64_t count) {
  constexpr std::int64_t block = 8;
  auto const work = static_cast<float>(wide) * static_cast<float>(offsets[rows] + count + rows);
  parallel_for(static_cast<int>((wide + block - 1) / block), threads_worth(work), [=](int task) {
    std::int64_t const c = task * block, width = wide - c < block ? wide - c : block;
    workspace<double> const memory(count * width);
    double* const sums = memory.data();
    for (std::int64_t k = 0; k < count * width; ++k) sums[k] = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
        double* const to = sums + static_cast<std::int64_t>(columns[e]) * width;
        T const* const row = g + i * wide + c;
        for (std::int64_t k = 0; k < width; ++k) to[k] += exact_product(values[e], row[k]);
      }
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t k = 0; k < width; ++k)
        r[j * wide + c + k] = static_cast<T>(sums[j * width + k]);
  });
}

/// means: r[e] = the sum over c of g[row of e, c] x[columns[e], c]
/// shape: g (rows, wide), x (columns, wide), r (entries)
template <class T, class Index>
void at_entries(std::int64_t rows, Index const* offsets, Index const* columns, T const* g,
                T const* x, std::int64_t wide, T* r) {
  float const each = 1 + static_cast<float>(wide);
  for_rows(rows, offsets, each, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
        r[e] = static_cast<T>(
            product_of_rows(g + i * wide, x + static_cast<std::int64_t>(columns[e]) * wide, wide));
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::sparse::host
