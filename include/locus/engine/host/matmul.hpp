// SPDX-License-Identifier: Apache-2.0
// The matrix product on the host: CBLAS for large float products if it is faster, otherwise the
// kernels of locus.
#pragma once
#include <type_traits>  // is_same

#include <locus/core/error.hpp>         // shape_error
#include <locus/engine/host/cblas.hpp>  // cblas, uses_blas
#include <locus/engine/host/gemm.hpp>   // product
#include <locus/engine/host/gemv.hpp>   // vector_product
#include <locus/work/matrix.hpp>        // matrix

namespace locus::host {
inline namespace LOCUS_MODE {

/// engine/host/complex_product.hpp has its body
template <class T>
void complex_product(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b);

namespace detail {

/// means: the CBLAS has a product of T; those of complex numbers may be missing
template <class T>
bool has_blas() {
  if constexpr (std::is_same_v<T, complex<float>>)
    return cblas().cgemm != nullptr;
  else if constexpr (is_complex_v<T>)
    return cblas().zgemm != nullptr;
  else
    return true;
}

/// c = a b by CBLAS; c is row-major, a and b fit BLAS
template <class T>
void matmul_blas(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  std::int64_t const limit = INT32_MAX;
  if (c.columns > limit || a.columns > limit || a.leading() > limit || b.leading() > limit ||
      c.leading() > limit)
    throw shape_error(
        "locus: a matrix of matmul has more than 2^31 - 1 columns; cut it with slice");
  one_blas_thread const alone(cblas());
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
    if constexpr (is_complex_v<T>) {
      T const one(1), zero(0);
      auto* const gemm = std::is_same_v<T, complex<float>> ? cblas().cgemm : cblas().zgemm;
      gemm(cblas_row_major, ta, tb, m, n, k, &one, left, lda, right, ldb, &zero, to, ldc);
    } else if constexpr (std::is_same_v<T, float>)
      cblas().sgemm(cblas_row_major, ta, tb, m, n, k, 1.f, left, lda, right, ldb, 0.f, to, ldc);
    else
      cblas().dgemm(cblas_row_major, ta, tb, m, n, k, 1., left, lda, right, ldb, 0., to, ldc);
  }
}

}  // namespace detail

namespace detail {

/// the same; threads of locus share the longer side of c, if the library can run on one thread
template <class T>
void share_blas(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  int const threads = cblas().is_single() ? threads_for_product(c.rows * c.columns * a.columns) : 1;
  std::int64_t const n = c.rows >= c.columns ? c.rows : c.columns,
                     part = blocks_of(blocks_of(n, threads), 48) * 48;
  if (threads == 1 || part >= n) return matmul_blas<T>(c, a, b);
  parallel_for(static_cast<int>(blocks_of(n, part)), threads, [&](int task) {
    std::int64_t const first = task * part, here = least(part, n - first);
    if (c.rows >= c.columns)
      matmul_blas<T>(kernel::rows_of<T>(c, first, here), kernel::rows_of<T>(a, first, here), b);
    else
      matmul_blas<T>(kernel::columns_of<T>(c, first, here), a,
                     kernel::columns_of<T>(b, first, here));
  });
}

}  // namespace detail

/// means: c[i][j] = sum over k of a[i][k] * b[k][j]
template <class T>
void matmul(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  if (c.rows == 0 || c.columns == 0) return;
  if constexpr (!is_complex_v<T>) {
    if (is_vector_product(c, a) && vector_product<T>(c, a, b)) return;
    if (is_vector_product(c.transposed(), b.transposed()) &&
        vector_product<T>(c.transposed(), b.transposed(), a.transposed()))
      return;
  }
  if constexpr (is_floating_v<T> || is_complex_v<T>)
    if (detail::has_blas<T>() && !is_small(c, a) && a.columns > 0 && a.fits_blas() &&
        b.fits_blas() && (c.rows < 4 || c.columns < 4 ? uses_blas_for_vectors() : uses_blas())) {
      if (c.is_row_major()) return detail::share_blas<T>(c, a, b);
      if (c.transposed().is_row_major())
        return detail::share_blas<T>(c.transposed(), b.transposed(), a.transposed());
    }
  if constexpr (is_complex_v<T>)
    complex_product<real_t<T>>(c, a, b);
  else
    product<T>(c, a, b);
}

/// means: one(c, a, b) for each product of a batch; threads share many small products, or each
///        large one
template <class T, class One>
void for_each_of_batch(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b,
                       kernel::batch const& batch, One const& one) {
  if (batch.count == 1) return one(c, a, b);
  auto run = [&](std::int64_t i) {
    one(kernel::matrix_at<T>(c, batch.c, i), kernel::matrix_at<T>(a, batch.a, i),
        kernel::matrix_at<T>(b, batch.b, i));
  };
  std::int64_t const each = c.rows * c.columns * (a.columns + 1);  // operations of one product
  int const threads = is_small(c, a) ? threads_for_product(each * batch.count) : 1;
  if (threads == 1) {
    for (std::int64_t i = 0; i < batch.count; ++i) run(i);
    return;
  }
  std::int64_t const part = (batch.count + 4 * threads - 1) / (4 * threads);
  parallel_for(static_cast<int>((batch.count + part - 1) / part), threads, [&](int task) {
    for (std::int64_t i = task * part; i < batch.count && i < (task + 1) * part; ++i) run(i);
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
