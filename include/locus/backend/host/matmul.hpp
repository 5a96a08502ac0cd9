// SPDX-License-Identifier: Apache-2.0
// The matrix product on the host: CBLAS for floats, plain loops for integers and where there is no
// CBLAS.
#pragma once
#include <type_traits>  // is_same

#include <locus/backend/host/cblas.hpp>   // cblas
#include <locus/backend/host/map.hpp>     // threads_for
#include <locus/core/error.hpp>           // shape_error
#include <locus/kernel/matrix.hpp>        // matrix
#include <locus/ops/functors.hpp>         // add_fn, multiply_fn
#include <locus/runtime/host_memory.hpp>  // host_memory

LOCUS_LOOPS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

namespace detail {

/// a dense copy of a matrix that a BLAS cannot read, and the memory it takes
template <class T>
class dense_copy {
 public:
  explicit dense_copy(kernel::matrix const& m) : dense{nullptr, m.rows, m.columns, m.columns, 1} {
    dense.data = runtime::host_memory.allocate(bytes());  // null: do without a BLAS
  }
  dense_copy(dense_copy const&) = delete;
  ~dense_copy() {
    if (dense.data) runtime::host_memory.release(dense.data, bytes());
  }
  explicit operator bool() const { return dense.data; }
  void read(kernel::matrix const& m) {
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) at(dense, i, j) = at(m, i, j);
  }
  void write(kernel::matrix const& m) const {
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) at(m, i, j) = at(dense, i, j);
  }
  kernel::matrix dense;

 private:
  static T& at(kernel::matrix const& m, std::int64_t i, std::int64_t j) {
    return static_cast<T*>(m.data)[i * m.row_stride + j * m.column_stride];
  }
  std::size_t bytes() const {
    return sizeof(T) * static_cast<std::size_t>(dense.rows * dense.columns) + 1;
  }
};

/// c = a b by loops over rows of b: the innermost one runs along a row of c
template <class T>
void matmul_loops(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  std::int64_t const each = 8;
  int const tasks = static_cast<int>((c.rows + each - 1) / each);
  parallel_for(tasks, threads_for(c.rows * c.columns * a.columns), [&](int task) {
    for (std::int64_t i = task * each; i < c.rows && i < (task + 1) * each; ++i) {
      T* const row = static_cast<T*>(c.data) + i * c.row_stride;
      for (std::int64_t j = 0; j < c.columns; ++j) row[j * c.column_stride] = T(0);
      for (std::int64_t k = 0; k < a.columns; ++k) {
        T const x = static_cast<T const*>(a.data)[i * a.row_stride + k * a.column_stride];
        T const* const y = static_cast<T const*>(b.data) + k * b.row_stride;
        if (b.column_stride == 1 && c.column_stride == 1) {
          LOCUS_IVDEP
          for (std::int64_t j = 0; j < c.columns; ++j)
            row[j] = add_fn{}(row[j], multiply_fn{}(x, y[j]));
        } else
          for (std::int64_t j = 0; j < c.columns; ++j)
            row[j * c.column_stride] =
                add_fn{}(row[j * c.column_stride], multiply_fn{}(x, y[j * b.column_stride]));
      }
    }
  });
}

/// c row-major, a and b readable by a BLAS
template <class T>
void matmul_blas(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  std::int64_t const limit = INT32_MAX;
  if (c.columns > limit || a.columns > limit || a.leading() > limit || b.leading() > limit ||
      c.leading() > limit)
    throw shape_error(
        "locus: a matrix of matmul has more than 2^31 - 1 columns; cut it with slice");
  set_blas_threads();
  for (std::int64_t first = 0; first < c.rows;
       first += limit) {  // the rows in parts that an int can count
    int const m = static_cast<int>(c.rows - first < limit ? c.rows - first : limit);
    int const n = static_cast<int>(c.columns), k = static_cast<int>(a.columns);
    auto* const to = static_cast<T*>(c.data) + first * c.row_stride;
    auto const* const left = static_cast<T const*>(a.data) + first * a.row_stride;
    auto const* const right = static_cast<T const*>(b.data);
    int const ta = a.is_row_major() ? cblas_no_trans : cblas_trans,
              tb = b.is_row_major() ? cblas_no_trans : cblas_trans;
    int const lda = static_cast<int>(a.leading()), ldb = static_cast<int>(b.leading()),
              ldc = static_cast<int>(c.leading());
    if constexpr (std::is_same_v<T, float>)
      cblas().sgemm(cblas_row_major, ta, tb, m, n, k, 1.f, left, lda, right, ldb, 0.f, to, ldc);
    else
      cblas().dgemm(cblas_row_major, ta, tb, m, n, k, 1., left, lda, right, ldb, 0., to, ldc);
  }
}

}  // namespace detail

/// means: c[i][j] = sum over k of a[i][k] * b[k][j]
template <class T>
void matmul(kernel::matrix c, kernel::matrix a, kernel::matrix b) {
  if (c.rows == 0 || c.columns == 0) return;
  constexpr bool has_blas = std::is_same_v<T, float> || std::is_same_v<T, double>;
  if constexpr (has_blas)
    if (cblas().sgemm && a.columns > 0) {
      if (!a.fits_blas()) {
        detail::dense_copy<T> copy(a);
        if (!copy) return detail::matmul_loops<T>(c, a, b);
        copy.read(a);
        return matmul<T>(c, copy.dense, b);
      }
      if (!b.fits_blas()) {
        detail::dense_copy<T> copy(b);
        if (!copy) return detail::matmul_loops<T>(c, a, b);
        copy.read(b);
        return matmul<T>(c, a, copy.dense);
      }
      if (c.is_row_major()) return detail::matmul_blas<T>(c, a, b);
      if (c.transposed().is_row_major())
        return detail::matmul_blas<T>(c.transposed(), b.transposed(), a.transposed());
      detail::dense_copy<T> copy(c);
      if (!copy) return detail::matmul_loops<T>(c, a, b);
      detail::matmul_blas<T>(copy.dense, a, b);
      return copy.write(c);
    }
  detail::matmul_loops<T>(c, a, b);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_LOOPS_END
