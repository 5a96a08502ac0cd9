// SPDX-License-Identifier: Apache-2.0
// A matrix as an operand of a matmul.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

namespace locus::kernel {

/// means: element (i, j) is at data + i * row_stride + j * column_stride     units: elements
struct matrix {
  void* data = nullptr;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;

  /// means: elements of a row (of a column) are adjacent, without gaps; BLAS needs one of the two
  constexpr bool has_unit_rows() const { return columns <= 1 || column_stride == 1; }
  constexpr bool has_unit_columns() const { return rows <= 1 || row_stride == 1; }
  constexpr bool fits_blas() const {
    if (has_unit_rows() && (rows <= 1 || row_stride >= columns)) return true;
    return has_unit_columns() && (columns <= 1 || column_stride >= rows);
  }
  /// means: true: BLAS reads it as row-major; false: BLAS reads its transpose as row-major
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

/// means: `count` products; c, a, b: distance from one matrix to the next; 0: all products
///        use the same matrix     units: elements
struct batch {
  std::int64_t count = 1, c = 0, a = 0, b = 0;
};
/// means: c = a b + row, then c = max(c, 0) if `relu`: the epilogue that a library kernel of a
///        product can apply
/// after: CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS
struct product_row {
  void const* data = nullptr;  // contiguous; null: no row is added
  bool relu = false;
  bool* added = nullptr;  // set to true by a launch that adds the row; the host never does
};
/// The extents of a product that are part of its type: (m,k) x (k,n).
struct product_extents {
  int m, n, k;
};
/// means: matrix i of a batch
template <class T>
constexpr matrix matrix_at(matrix m, std::int64_t step, std::int64_t i) {
  m.data = static_cast<T*>(m.data) + step * i;
  return m;
}

/// means: `rows` rows of m from row `first` on
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
