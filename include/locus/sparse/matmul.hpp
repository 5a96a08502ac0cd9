// SPDX-License-Identifier: Apache-2.0
// matmul(a, x), to_dense(a) and diagonal(a) of a sparse matrix: steps of a plan. A program includes
// this header by name; <locus/locus.hpp> does not.
#pragma once
#include <utility>  // forward

#include <locus/core/macros.hpp>        // LOCUS_MODE
#include <locus/ops/call.hpp>           // call
#include <locus/ops/views.hpp>          // reshape
#include <locus/sparse/csr.hpp>         // sparse_matrix
#include <locus/sparse/dense_op.hpp>    // dense_op, diagonal_op
#include <locus/sparse/product_op.hpp>  // product_op

namespace locus {
namespace sparse {

/// The pattern of a matrix with other values, which may be an expression; it points to the matrix.
template <class V, class A>
struct valued {
  using is_sparse = void;
  using value_type = typename A::value_type;
  using extents_type = typename A::extents_type;
  using policy = typename A::policy;
  using index_type = typename A::index_type;
  V const& values() const { return values_; }
  auto const& columns() const { return pattern_->columns(); }
  auto const& offsets() const { return pattern_->offsets(); }
  extents_type const& extents() const { return pattern_->extents(); }
  std::int64_t extent(int axis) const { return pattern_->extent(axis); }
  std::int64_t entries() const { return pattern_->entries(); }
  V values_;
  A const* pattern_;
};

/// means: X is a dense operand of a product with the matrix A
/// fails: at compile time, with a sentence
template <class A, class X>
consteval bool multiplies() {
  constexpr int rank = expression_of_t<X>::pattern.rank;
  constexpr bool has_rank = rank == 1 || rank == 2,
                 has_type = std::is_same_v<typename A::value_type, element_of_t<X>>;
  static_assert(has_rank, "locus: a sparse matrix times a vector or a dense matrix; reshape the "
                          "right side to one or two axes");
  static_assert(has_type, "locus: both sides of a sparse product have the same element type; write "
                          "matmul(a, cast<double>(x))");
  return has_rank && has_type;
}

/// means: the offsets as an operand, with a static extent where the number of rows is static
template <class A>
constexpr auto offsets_of(A&& a) {
  constexpr std::int64_t rows = std::remove_cvref_t<A>::extents_type::static_extent(0);
  if constexpr (rows == dyn)
    return as_operand<void>(std::forward<A>(a).offsets());
  else
    return reshape<rows + 1>(std::forward<A>(a).offsets());
}
template <class A>
inline constexpr std::int64_t columns_of = std::remove_cvref_t<A>::extents_type::static_extent(1);

}  // namespace sparse

inline namespace LOCUS_MODE {

/// means: y[i] = the sum over the entries e of row i of values[e] x[columns[e]]; for a dense matrix
///        x the same for each of its columns
/// shape: (m, n) x (n) -> (m); (m, n) x (n, k) -> (m, k); float or double on both sides
/// device: where the matrix is. x whole, or a dense matrix in pieces along its columns, which stay
///         where they are; the matrix is then mirrored. GPUs: a thread for each number of the result
/// cost:  one launch; 2 k operations for each entry. Host: rows on several threads, balanced by
///        entries. Derivatives: one launch each, with k operations for each entry; that of x on
///        a GPU sorts the entries by their columns
/// fails: at compile time, for other types and ranks, for static extents that do not meet, and for x
///        in pieces of rows; shape_error, where extents do not meet when they are bound
/// units: sums in double, each row in one order: the same bits for any number of threads, on host and
///        GPUs. Rows of 64 entries and more have four sums (row_sums.hpp)
/// after: SciPy's a @ x, Eigen's a * x, cuSPARSE's SpMV and SpMM
template <sparse::sparse_matrix A, tensor_operand X>
constexpr auto matmul(A&& a, X&& x) {
  if constexpr (sparse::multiplies<std::remove_cvref_t<A>, X>()) {
    constexpr int rank = expression_of_t<X>::pattern.rank;
    return call(sparse::over_columns<sparse::product_op<rank, sparse::columns_of<A>>>(a.extent(1)),
                std::forward<A>(a).values(), std::forward<X>(x), std::forward<A>(a).columns(),
                sparse::offsets_of(std::forward<A>(a)));
  }
}
template <tensor_operand X, sparse::sparse_matrix A>
constexpr auto matmul(X const&, A const&) {
  static_assert(always_false<X>, "locus: a sparse matrix stands on the left of a product; write "
                                 "transpose(matmul(transpose(a), transpose(x)))");
}
template <sparse::sparse_matrix A, sparse::sparse_matrix B>
constexpr auto matmul(A const&, B const&) {
  static_assert(always_false<A>,
                "locus: there is no product of two sparse matrices; multiply by a dense one, "
                "matmul(a, to_dense(b)), or by vectors in turn, matmul(a, matmul(b, x))");
}

/// means: r[i, j] = the sum of the entries of row i with column j, 0 where there is none
/// shape: that of a     cost: one launch; on a GPU each element searches its row
template <sparse::sparse_matrix A>
constexpr auto to_dense(A&& a) {
  return call(sparse::over_columns<sparse::dense_op<sparse::columns_of<A>>>(a.extent(1)),
              std::forward<A>(a).values(), std::forward<A>(a).columns(),
              sparse::offsets_of(std::forward<A>(a)));
}

/// means: r[i] = the sum of the entries of row i with column i
/// shape: the smaller extent of a     cost: one launch, which reads the entries; no derivative
template <sparse::sparse_matrix A>
constexpr auto diagonal(A&& a) {
  return call(sparse::over_columns<sparse::diagonal_op<sparse::columns_of<A>>>(a.extent(1)),
              std::forward<A>(a).values(), std::forward<A>(a).columns(),
              sparse::offsets_of(std::forward<A>(a)));
}

/// means: the matrix with the pattern of a and the values v, which may be an expression or a name:
///        auto v = named<"v">(a.values()); grad(sum(matmul(with_values(a, v), x)), v)
/// shape: v (entries)     cost: none; it points to a
/// fails: at compile time, for another element type, and for a matrix without a name; where it is
///        used: shape_error, for another number of values
template <sparse::sparse_matrix A, tensor_operand V>
constexpr auto with_values(A&& a, V&& v) {
  using Matrix = std::remove_cvref_t<A>;
  constexpr bool has_name = std::is_lvalue_reference_v<A>,
                 has_type = std::is_same_v<element_of_t<V>, typename Matrix::value_type>;
  static_assert(has_name, "locus: a matrix with other values points to the matrix; give "
                          "with_values a named one");
  static_assert(has_type, "locus: the values of a sparse matrix keep their element type; write "
                          "with_values(a, cast<double>(v))");
  if constexpr (has_name && has_type) {
    auto values = as_operand<void>(std::forward<V>(v));
    return sparse::valued<decltype(values), Matrix>{std::move(values), &a};
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus
