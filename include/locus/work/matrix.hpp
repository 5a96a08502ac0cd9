// SPDX-License-Identifier: Apache-2.0
// A matrix as a matmul sees it.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::kernel {

/// means: element (i, j) lies at data + i * row_stride + j * column_stride     units: elements
struct matrix {
  void* data = nullptr;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;

  /// rows, or columns, without gaps between neighbours: what a BLAS can read
  constexpr bool has_unit_rows() const { return columns <= 1 || column_stride == 1; }
  constexpr bool has_unit_columns() const { return rows <= 1 || row_stride == 1; }
  constexpr bool fits_blas() const {
    if (has_unit_rows() && (rows <= 1 || row_stride >= columns)) return true;
    return has_unit_columns() && (columns <= 1 || column_stride >= rows);
  }
  /// read along rows; otherwise the transposed matrix is
  constexpr bool is_row_major() const {
    return has_unit_rows() && (rows <= 1 || row_stride >= columns);
  }
  constexpr std::int64_t leading() const {
    std::int64_t const n =
        is_row_major() ? (rows <= 1 ? columns : row_stride) : (columns <= 1 ? rows : column_stride);
    return n < 1 ? 1 : n;
  }
  constexpr matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// means: `count` products; from one to the next the matrices lie so many elements apart, 0: one for
///        all
struct batch {
  std::int64_t count = 1, c = 0, a = 0, b = 0;
};
/// means: the row and the relu that a library may add to a product in its kernel: c = a b + the row, then max(c, 0)
/// after: CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS
struct product_row {
  void const* data = nullptr;  // neighbours side by side; null: nothing is added
  bool relu = false;
  bool* added = nullptr;  // becomes true when the launch is one that adds; on the host none does
};
/// The extents of a product that its type knows: (m,k) x (k,n).
struct product_extents {
  int m, n, k;
};
/// means: the i-th matrix of a batch
template <class T>
constexpr matrix matrix_at(matrix m, std::int64_t step, std::int64_t i) {
  m.data = static_cast<T*>(m.data) + step * i;
  return m;
}

/// means: `rows` rows of m from `first` on, all columns; of columns likewise: through transposed()
template <class T>
constexpr matrix rows_of(matrix m, std::int64_t first, std::int64_t rows) {
  m.data = static_cast<T*>(m.data) + first * m.row_stride;
  m.rows = rows;
  return m;
}
template <class T>
constexpr matrix columns_of(matrix const& m, std::int64_t first, std::int64_t columns) {
  return rows_of<T>(m.transposed(), first, columns).transposed();
}

}  // namespace locus::kernel
