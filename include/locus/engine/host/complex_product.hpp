// SPDX-License-Identifier: Apache-2.0
// The product of complex matrices, by two real products: the real parts of [re, -im] [re; im], and the
// imaginary parts of [re, im] [im; re].
#pragma once
#include <cstdint>  // int64_t

#include <locus/engine/host/gemm.hpp>       // product
#include <locus/engine/host/workspace.hpp>  // workspace
#include <locus/shape/complex.hpp>          // complex
#include <locus/work/matrix.hpp>            // matrix

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: c[i][j] = sum over k of a[i][k] * b[k][j]; T: float or double
/// cost:  8 m n k real operations, and a copy of both operands, twice
/// fails: out_of_memory, without memory for the copies
template <class T>
void complex_product(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  std::int64_t const m = c.rows, n = c.columns, k = a.columns;
  char const* const owner = "a product of complex matrices; cut it with slice";
  workspace<T> const lefts(2 * 2 * m * k, owner), rights(2 * 2 * k * n, owner);
  auto const number = [](kernel::matrix const& x, std::int64_t i, std::int64_t j) {
    return static_cast<complex<T> const*>(x.data)[i * x.row_stride + j * x.column_stride];
  };
  T *const left = lefts.data(), *const right = rights.data();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      complex<T> const z = number(a, i, p);
      T* const row = left + 2 * k * i;
      row[p] = z.re, row[k + p] = -z.im;                         // real parts
      row[2 * m * k + p] = z.re, row[2 * m * k + k + p] = z.im;  // imaginary parts
    }
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t j = 0; j < n; ++j) {
      complex<T> const z = number(b, p, j);
      right[p * n + j] = z.re, right[(k + p) * n + j] = z.im;
      right[(2 * k + p) * n + j] = z.im, right[(3 * k + p) * n + j] = z.re;
    }
  for (int part = 0; part < 2; ++part)
    product<T>({static_cast<T*>(c.data) + part, m, n, 2 * c.row_stride, 2 * c.column_stride},
               {left + part * 2 * m * k, m, 2 * k, 2 * k, 1},
               {right + part * 2 * k * n, 2 * k, n, n, 1});
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
