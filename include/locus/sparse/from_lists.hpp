// SPDX-License-Identifier: Apache-2.0
// Sparse matrices from lists of triplets and from dense matrices; the transposed one. All of it runs
// on the host.
#pragma once
#include <initializer_list>  // initializer_list

#include <locus/core/macros.hpp>          // LOCUS_MODE
#include <locus/sparse/csr.hpp>           // csr
#include <locus/sparse/host_kernels.hpp>  // workspace
#include <locus/tensor/eval.hpp>          // to

namespace locus {
namespace sparse {

/// One entry of a list; lists have any order, and entries of one place are added.
template <class T>
struct triplet {
  std::int64_t row, column;
  T value;
};

namespace host {

/// means: order = the numbers 0 to n - 1, sorted by key(order[k]), equal keys as before
/// shape: from, order (n); keys in [0, keys)
template <class Key>
void stable_order(std::int64_t n, std::int64_t keys, std::int64_t const* from, std::int64_t* order,
                  Key const& key) {
  workspace<std::int64_t> const memory(keys + 1);
  std::int64_t* const starts = memory.data();
  for (std::int64_t k = 0; k <= keys; ++k) starts[k] = 0;
  for (std::int64_t k = 0; k < n; ++k) ++starts[key(k) + 1];
  for (std::int64_t k = 0; k < keys; ++k) starts[k + 1] += starts[k];
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t const entry = from ? from[k] : k;
    order[starts[key(entry)]++] = entry;
  }
}

/// means: the matrix of n triplets, at(k): those of one place are added in their order, in double
template <class T, class Index, class E, class At>
csr<T, E, CpuDevice, Index> matrix_of(E const& extents, std::int64_t n, At const& at) {
  std::int64_t const rows = extents.extent(0), columns = extents.extent(1);
  for (std::int64_t k = 0; k < n; ++k) {
    triplet<T> const t = at(k);
    if (t.row < 0 || t.row >= rows) refuse_row(k, t.row, rows);
    if (t.column < 0 || t.column >= columns) refuse_column(k, t.row, t.column, columns);
  }
  workspace<std::int64_t> const by_column(n), by_row(n);
  stable_order(n, columns, nullptr, by_column.data(), [&](std::int64_t k) { return at(k).column; });
  stable_order(n, rows, by_column.data(), by_row.data(), [&](std::int64_t k) { return at(k).row; });
  std::int64_t const* const order = by_row.data();
  auto const is_new = [&](std::int64_t k) {
    if (k == 0) return true;
    triplet<T> const a = at(order[k - 1]), b = at(order[k]);
    return a.row != b.row || a.column != b.column;
  };
  std::int64_t entries = 0;
  for (std::int64_t k = 0; k < n; ++k) entries += is_new(k);
  require_numbers<Index>(entries, columns);
  Tensor<T, Dextents<1>> values(entries);
  Tensor<Index, Dextents<1>> numbers(entries), offsets(rows + 1);
  for (std::int64_t i = 0; i <= rows; ++i) offsets.data()[i] = 0;
  for (std::int64_t k = 0, e = 0; k < n; ++e) {
    triplet<T> const first = at(order[k]);
    double sum = first.value;
    for (++k; k < n && !is_new(k); ++k) sum += at(order[k]).value;
    values.data()[e] = static_cast<T>(sum);
    numbers.data()[e] = static_cast<Index>(first.column);
    offsets.data()[first.row + 1] = static_cast<Index>(e + 1);
  }
  for (std::int64_t i = 0; i < rows; ++i)  // a row without entries begins where the one before ends
    if (offsets.data()[i + 1] < offsets.data()[i]) offsets.data()[i + 1] = offsets.data()[i];
  return {trusted, extents, std::move(values), std::move(numbers), std::move(offsets)};
}

/// means: the elements of m that are not 0
template <class Index, class T, class E>
csr<T, E, CpuDevice, Index> elements_of(Tensor<T, E> const& m) {
  std::int64_t const rows = m.extent(0), columns = m.extent(1);
  T const* const from = m.data();
  std::int64_t entries = 0;
  for (std::int64_t k = 0; k < rows * columns; ++k) entries += from[k] != T(0);
  require_numbers<Index>(entries, columns);
  Tensor<T, Dextents<1>> values(entries);
  Tensor<Index, Dextents<1>> numbers(entries), offsets(rows + 1);
  std::int64_t e = 0;
  offsets.data()[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      if (from[i * columns + j] != T(0)) {
        values.data()[e] = from[i * columns + j];
        numbers.data()[e++] = static_cast<Index>(j);
      }
    offsets.data()[i + 1] = static_cast<Index>(e);
  }
  return {trusted, m.extents(), std::move(values), std::move(numbers), std::move(offsets)};
}

}  // namespace host

inline namespace LOCUS_MODE {

/// means: the matrix with these entries, in rows whose columns rise; triplets come in any order, and
///        values of one place are added in the order of the list. A sum of 0 stays an entry
/// device: the host     cost: two counting sorts of n entries, 16 bytes of workspace for each
/// fails: shape_error that names the triplet, for a row or a column outside; for more entries than
///        Index counts
/// after: SciPy's coo_array.tocsr, Eigen's setFromTriplets
template <class Index = std::int32_t, class T, std::int64_t... N>
auto from_triplets(Extents<N...> const& extents, triplet<T> const* list, std::int64_t n) {
  return host::matrix_of<T, Index>(extents, n, [=](std::int64_t k) { return list[k]; });
}
template <class Index = std::int32_t, std::int64_t... N, host_range R>
auto from_triplets(Extents<N...> const& extents, R const& list) {
  return from_triplets<Index>(extents, list.data(), static_cast<std::int64_t>(list.size()));
}
template <class T, class Index = std::int32_t, std::int64_t... N>
auto from_triplets(Extents<N...> const& extents, std::initializer_list<triplet<T>> list) {
  return from_triplets<Index>(extents, list.begin(), static_cast<std::int64_t>(list.size()));
}
/// means: of three lists: entry k has rows[k], columns[k], values[k]
/// fails: also shape_error, for lists of several lengths
template <class Index = std::int32_t, std::int64_t... N, class R, class C, class V>
auto from_triplets(Extents<N...> const& extents, R const& rows, C const& columns, V const& values) {
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(values.data())>>;
  auto const n = static_cast<std::int64_t>(values.size());
  for (auto const size :
       {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size())})
    if (size != n) refuse_lengths(n, size);
  return host::matrix_of<T, Index>(
      extents, n, [r = rows.data(), c = columns.data(), v = values.data()](std::int64_t k) {
        return triplet<T>{static_cast<std::int64_t>(r[k]), static_cast<std::int64_t>(c[k]), v[k]};
      });
}

/// means: the elements of x that are not 0, NaN among them
/// device: the host; x is brought there     cost: two passes over x
template <class Index = std::int32_t, tensor_operand X>
auto from_dense(X&& x) {
  constexpr bool is_matrix = expression_of_t<X>::pattern.rank == 2;
  static_assert(is_matrix, "locus: from_dense takes a matrix; reshape its operand to two axes");
  if constexpr (is_matrix) return host::elements_of<Index>(to<CpuDevice>(std::forward<X>(x)));
}

}  // namespace LOCUS_MODE
}  // namespace sparse

inline namespace LOCUS_MODE {

/// means: r[j, i] = a[i, j]; the columns of each row rise, and entries of one place stay as many
/// device: the host     cost: one counting sort
/// fails: at compile time, for a matrix on a GPU and for with_values(a, v); shape_error, for more rows
///        than Index counts, and where values() got another length
template <sparse::sparse_matrix A>
auto transpose(A const& a) {
  using E = typename A::extents_type;
  using T = typename A::value_type;
  using Index = typename A::index_type;
  using Turned = Extents<E::static_extent(1), E::static_extent(0)>;
  constexpr bool on_host = A::policy::value.is_single() && A::policy::value.at(0).is_cpu();
  static_assert(on_host, "locus: a sparse matrix is transposed on the host; write "
                         "to<GpuDevice<0>>(transpose(to<CpuDevice>(a)))");
  constexpr bool has_values = requires { a.values().data(); };
  static_assert(has_values, "locus: transpose puts the values of a sparse matrix in another order; "
                            "store them in the matrix first: a.values() = v; transpose(a)");
  if constexpr (on_host && has_values) {
    std::int64_t const rows = a.extent(0), columns = a.extent(1), n = a.entries();
    sparse::require_numbers<Index>(n, rows);
    sparse::require_lengths(rows, n, a.columns().size(), a.offsets().size());
    Tensor<T, Dextents<1>> values(n);
    Tensor<Index, Dextents<1>> numbers(n), offsets(columns + 1);
    Index const *const at = a.columns().data(), *const starts = a.offsets().data();
    T const* const from = a.values().data();
    Index* const to = offsets.data();
    for (std::int64_t j = 0; j <= columns; ++j) to[j] = 0;
    for (std::int64_t e = 0; e < n; ++e) ++to[at[e]];
    for (std::int64_t j = 0; j < columns; ++j) to[j + 1] = static_cast<Index>(to[j + 1] + to[j]);
    for (std::int64_t i = rows; i-- > 0;)  // from the end: each column is filled from its end
      for (std::int64_t e = starts[i + 1]; e-- > starts[i];) {
        Index const place = --to[at[e]];
        values.data()[place] = from[e];
        numbers.data()[place] = static_cast<Index>(i);
      }
    return sparse::csr<T, Turned, CpuDevice, Index>(
        sparse::trusted, Turned(shape{2, {columns, rows}}), std::move(values), std::move(numbers),
        std::move(offsets));
  }
}

/// means: the same matrix on Where: one device, or mirrored
/// cost:  copies of its three arrays
template <device_policy Where, sparse::sparse_matrix A>
auto to(A const& a) {
  return sparse::csr<typename A::value_type, typename A::extents_type, Where,
                     typename A::index_type>(a);
}

}  // namespace LOCUS_MODE
}  // namespace locus
