// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector: bounded by memory, since each element of the matrix is read once. A
// row-major matrix is read by dot products, a column-major one by adding its columns to blocks of
// the result that stay in the L1 cache. Compiled for several instruction sets, as tiles are.
#pragma once
#include <cstdint>  // int64_t

#include <locus/engine/host/gemm.hpp>       // scratch, blocks_of, least
#include <locus/engine/host/gemm_tile.hpp>  // tile_number, LOCUS_FOR_EACH_ISA
#include <locus/runtime/threads.hpp>        // parallel_for, threads_worth
#include <locus/work/matrix.hpp>            // matrix

LOCUS_VECTORS_BEGIN
namespace locus::host {
inline namespace LOCUS_MODE {
namespace detail {

/// means: dots: y[r * y_step] = sum over p < k of a[r * a_step + p] * x[p] for each row r; columns:
///        y[i] += sum over columns r of a[r * a_step + i] * x[r] for i < k
template <class T>
struct vector_call {
  T const* a;
  T const* x;
  T* y;
  std::int64_t k, a_step, y_step;
};

template <class Isa>
struct vector_kernels;
#define LOCUS_VECTOR_PRODUCTS(isa, target)                                                         \
  template <>                                                                                      \
  struct vector_kernels<isa> {                                                                     \
    template <class T, int... Row>                                                                 \
    target static void dots(vector_call<T> const& t) {                                             \
      using X = typename tile_number<T>::type;                                                     \
      constexpr int rows = sizeof...(Row), lanes = isa::bytes / int(sizeof(T));                    \
      typedef X reg __attribute__((vector_size(isa::bytes)));                                      \
      typedef X memory __attribute__((vector_size(isa::bytes), aligned(sizeof(X)), may_alias));    \
      X const *a = reinterpret_cast<X const*>(t.a), *x = reinterpret_cast<X const*>(t.x);          \
      reg sum[rows]{}, more[rows]{};                                                               \
      std::int64_t p = 0;                                                                          \
      for (; p + 2 * lanes <= t.k; p += 2 * lanes) {                                               \
        reg const x0 = *reinterpret_cast<memory const*>(x + p),                                    \
                  x1 = *reinterpret_cast<memory const*>(x + p + lanes);                            \
        ((sum[Row] =                                                                               \
              isa::fused(*reinterpret_cast<memory const*>(a + Row * t.a_step + p), x0, sum[Row]),  \
          more[Row] = isa::fused(*reinterpret_cast<memory const*>(a + Row * t.a_step + p + lanes), \
                                 x1, more[Row])),                                                  \
         ...);                                                                                     \
      }                                                                                            \
      for (int r = 0; r < rows; ++r) {                                                             \
        sum[r] += more[r];                                                                         \
        X total = 0;                                                                               \
        for (int l = 0; l < lanes; ++l) total = static_cast<X>(total + sum[r][l]);                 \
        for (std::int64_t q = p; q < t.k; ++q)                                                     \
          total = static_cast<X>(total + a[r * t.a_step + q] * x[q]);                              \
        t.y[r * t.y_step] = static_cast<T>(total);                                                 \
      }                                                                                            \
    }                                                                                              \
    template <class T, int... Column>                                                              \
    target static void columns(vector_call<T> const& t) {                                          \
      using X = typename tile_number<T>::type;                                                     \
      constexpr int lanes = isa::bytes / int(sizeof(T));                                           \
      typedef X reg __attribute__((vector_size(isa::bytes)));                                      \
      typedef X memory __attribute__((vector_size(isa::bytes), aligned(sizeof(X)), may_alias));    \
      X const *a = reinterpret_cast<X const*>(t.a), *x = reinterpret_cast<X const*>(t.x);          \
      X* y = reinterpret_cast<X*>(t.y);                                                            \
      reg const factor[] = {(x[Column] - reg{})...};                                               \
      std::int64_t i = 0;                                                                          \
      for (; i + lanes <= t.k; i += lanes) {                                                       \
        reg sum = *reinterpret_cast<memory const*>(y + i);                                         \
        ((sum = isa::fused(*reinterpret_cast<memory const*>(a + Column * t.a_step + i),            \
                           factor[Column], sum)),                                                  \
         ...);                                                                                     \
        *reinterpret_cast<memory*>(y + i) = sum;                                                   \
      }                                                                                            \
      for (; i < t.k; ++i) {                                                                       \
        X sum = y[i];                                                                              \
        ((sum = static_cast<X>(sum + a[Column * t.a_step + i] * x[Column])), ...);                 \
        y[i] = sum;                                                                                \
      }                                                                                            \
    }                                                                                              \
  };
LOCUS_FOR_EACH_ISA(LOCUS_VECTOR_PRODUCTS)
#undef LOCUS_VECTOR_PRODUCTS

/// means: the kernels of an instruction set: of several rows or columns, and of one
template <class T>
struct vector_products {
  using kernel = void (*)(vector_call<T> const&);
  static constexpr int rows = 4, columns = 8;
  kernel dots, one_dot, add_columns, add_column;

  template <class Isa>
  static constexpr vector_products of() {
    using by = vector_kernels<Isa>;
    return {&by::template dots<T, 0, 1, 2, 3>, &by::template dots<T, 0>,
            &by::template columns<T, 0, 1, 2, 3, 4, 5, 6, 7>, &by::template columns<T, 0>};
  }
};

/// y = a x, for rows [begin, end) of a
template <class T>
void vector_part(vector_products<T> const& by, strided<T> const& y, kernel::matrix const& a,
                 T const* x, std::int64_t begin, std::int64_t end) {
  strided<T const> const from = input_of<T>(a);
  constexpr int rows = vector_products<T>::rows, columns = vector_products<T>::columns;
  if (a.has_unit_rows()) {
    std::int64_t i = begin;
    vector_call<T> t{nullptr, x, nullptr, a.columns, a.row_stride, y.row};
    for (; i + rows <= end; i += rows) t.a = from.at(i, 0), t.y = y.at(i, 0), by.dots(t);
    for (; i < end; ++i) t.a = from.at(i, 0), t.y = y.at(i, 0), by.one_dot(t);
    return;
  }
  constexpr std::int64_t block = 4096 / std::int64_t(sizeof(T));
  alignas(64) T here[block];
  for (std::int64_t i = begin; i < end; i += block) {
    std::int64_t const n = least(block, end - i);
    T* const sums = y.row == 1 ? y.at(i, 0) : here;
    for (std::int64_t j = 0; j < n; ++j) sums[j] = T(0);
    vector_call<T> t{nullptr, nullptr, sums, n, a.column_stride, 1};
    std::int64_t p = 0;
    for (; p + columns <= a.columns; p += columns)
      t.a = from.at(i, p), t.x = x + p, by.add_columns(t);
    for (; p < a.columns; ++p) t.a = from.at(i, p), t.x = x + p, by.add_column(t);
    if (sums == here)
      for (std::int64_t j = 0; j < n; ++j) *y.at(i + j, 0) = here[j];
  }
}

}  // namespace detail

/// means: true: c has one column, and the rows or the columns of a are contiguous
inline bool is_vector_product(kernel::matrix const& c, kernel::matrix const& a) {
  return c.columns == 1 && (a.has_unit_rows() || a.has_unit_columns());
}

/// means: c[i][0] = sum over k of a[i][k] * x[k][0]     false: no memory for a copy of x
/// cost:  one pass over a; a copy of x if it has gaps
template <class T>
bool vector_product(kernel::matrix const& c, kernel::matrix const& a, kernel::matrix const& x) {
  detail::vector_products<T> const& by = isa_tables<detail::vector_products<T>>().wide;
  bool const gaps = x.rows > 1 && x.row_stride != 1;
  alignas(64) T few[512];
  scratch const many(gaps && x.rows > 512 ? x.rows * std::int64_t(sizeof(T)) : 0);
  T const* values = static_cast<T const*>(x.data);
  if (gaps) {
    T* const copy = x.rows > 512 ? static_cast<T*>(many.data()) : few;
    if (!copy) return false;
    for (std::int64_t p = 0; p < x.rows; ++p) copy[p] = values[p * x.row_stride];
    values = copy;
  }
  detail::strided<T> const y = detail::output_of<T>(c);
  auto const work = static_cast<float>(c.rows * a.columns * std::int64_t(sizeof(T)));
  int const threads = threads_worth(work * 0.015f);  // nanoseconds: 70 GB/s
  std::int64_t const part = blocks_of(blocks_of(c.rows, threads), 64) * 64;
  if (part >= c.rows)
    detail::vector_part<T>(by, y, a, values, 0, c.rows);
  else
    parallel_for(static_cast<int>(blocks_of(c.rows, part)), threads, [&](int task) {
      detail::vector_part<T>(by, y, a, values, task * part, least((task + 1) * part, c.rows));
    });
  return true;
}
}  // namespace LOCUS_MODE
}  // namespace locus::host
LOCUS_VECTORS_END
