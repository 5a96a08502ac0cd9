// SPDX-License-Identifier: Apache-2.0
// The matrix product of half and bfloat16 on the host: operands are converted to floats, multiplied
// as floats, and the result is rounded once.
#pragma once
#include <locus/engine/host/matmul.hpp>  // matmul
#include <locus/engine/host/nest.hpp>    // threads_for
#include <locus/simd/packet.hpp>         // load, convert, store

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {

namespace detail {
/// means: to[i] = from[i], converted to To
template <class To, class From>
void convert_line(To* to, From const* from, std::int64_t n) {
  constexpr int lanes = simd::native_bytes / 4;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    simd::store(to + i, simd::convert<To>(simd::load<lanes>(from + i)));
  for (; i < n; ++i) to[i] = static_cast<To>(from[i]);
}
/// means: to[i][j] = from[i][j], converted to To; with vectors if rows of both are contiguous
template <class To, class From>
void convert_matrix(kernel::matrix to, kernel::matrix from) {
  if (to.row_stride == 1 && to.column_stride != 1) to = to.transposed(), from = from.transposed();
  bool const lines = to.column_stride == 1 && from.column_stride == 1;
  std::int64_t const each = 1 + (std::int64_t(1) << 16) / (to.columns + 1);
  int const tasks = static_cast<int>((to.rows + each - 1) / each);
  parallel_for(tasks, threads_for(to.rows * to.columns * 6), [&](int task) {
    for (std::int64_t i = task * each; i < to.rows && i < (task + 1) * each; ++i) {
      To* const t = static_cast<To*>(to.data) + i * to.row_stride;
      From const* const f = static_cast<From const*>(from.data) + i * from.row_stride;
      if (lines)
        convert_line(t, f, to.columns);
      else
        for (std::int64_t j = 0; j < to.columns; ++j)
          t[j * to.column_stride] = static_cast<To>(f[j * from.column_stride]);
    }
  });
}
/// memory for a matrix as floats, row-major or column-major as m
class floats_like {
 public:
  explicit floats_like(kernel::matrix const& m) : floats{nullptr, m.rows, m.columns, m.columns, 1} {
    if (m.row_stride == 1 && m.column_stride != 1)
      floats.row_stride = 1, floats.column_stride = m.rows;
    floats.data = runtime::host_memory.allocate(bytes());
  }
  floats_like(floats_like const&) = delete;
  ~floats_like() {
    if (floats.data) runtime::host_memory.release(floats.data, bytes());
  }
  kernel::matrix floats;

 private:
  std::size_t bytes() const {
    return sizeof(float) * static_cast<std::size_t>(floats.rows * floats.columns) + 1;
  }
};
/// without memory for floats: element by element
template <class T>
void narrow_matmul_loops(kernel::matrix const& c, kernel::matrix const& a,
                         kernel::matrix const& b) {
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k)
        sum += static_cast<T const*>(a.data)[i * a.row_stride + k * a.column_stride] *
               static_cast<T const*>(b.data)[k * b.row_stride + j * b.column_stride];
      static_cast<T*>(c.data)[i * c.row_stride + j * c.column_stride] = static_cast<T>(sum);
    }
}
}  // namespace detail

/// means: c[i][j] = sum over k of a[i][k] * b[k][j], added as floats, rounded once
/// cost:  a float product, and memory for a, b and c as floats
template <class T>
void narrow_matmul(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& b) {
  if (c.rows == 0 || c.columns == 0) return;
  detail::floats_like const x(a), y(b), z(c);
  if (!x.floats.data || !y.floats.data || !z.floats.data)
    return detail::narrow_matmul_loops<T>(c, a, b);
  detail::convert_matrix<float, T>(x.floats, a);
  detail::convert_matrix<float, T>(y.floats, b);
  matmul<float>(z.floats, x.floats, y.floats);
  detail::convert_matrix<T, float>(c, z.floats);
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
