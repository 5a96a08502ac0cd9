// SPDX-License-Identifier: Apache-2.0
// The operands of all functions of matrices, their roles over replicas, a loop over the matrices
// of a batch.
#pragma once
#include <algorithm>    // max
#include <cmath>        // abs
#include <cstdint>      // int64_t
#include <limits>       // numeric_limits
#include <type_traits>  // is_same

#include <locus/core/macros.hpp>            // LOCUS_MODE
#include <locus/engine/host/workspace.hpp>  // workspace
#include <locus/expr/call_rule.hpp>         // call_role
#include <locus/expr/operand.hpp>           // tensor_operand, expression_of_t
#include <locus/ops/views.hpp>              // transpose
#include <locus/runtime/threads.hpp>        // parallel_for, threads_worth
#include <locus/shape/tile.hpp>             // tile

namespace locus::linalg {

/// means: a batch lies first, and its matrices are rows of it; one matrix is whole everywhere
constexpr call_role role_of(int rank) { return rank == 3 ? call_role::rows : call_role::whole; }

/// means: two extents that may be equal when the program runs
constexpr bool may_be_equal(std::int64_t a, std::int64_t b) {
  return a == b || a == dyn || b == dyn;
}
/// means: the matrices of s are square, or may be
constexpr bool may_be_square(shape const& s) {
  return s.rank >= 2 && may_be_equal(s.from_right(0), s.from_right(1));
}
/// means: extent k from the right of s, which square matrices of s have in both places
constexpr shape square(shape s) {
  std::int64_t& rows = s.extent[s.rank - 2];
  std::int64_t& columns = s.extent[s.rank - 1];
  if (rows == dyn) rows = columns;
  columns = rows;
  return s;
}

/// means: the smaller extent of the matrices of s
constexpr std::int64_t smaller_extent(shape const& s) {
  std::int64_t const a = s.from_right(0), b = s.from_right(1);
  return a == dyn || b == dyn ? dyn : a < b ? a : b;
}
/// means: matrices (rows, columns) in the batch of s; without columns, one axis
constexpr shape in_batch_of(shape const& s, std::int64_t rows) {
  return s.rank == 3 ? shape{2, {s.extent[0], rows}} : shape{1, {rows}};
}
constexpr shape in_batch_of(shape const& s, std::int64_t rows, std::int64_t columns) {
  return s.rank == 3 ? shape{3, {s.extent[0], rows, columns}} : shape{2, {rows, columns}};
}

/// means: X is one matrix of float or double, or a batch of them
/// fails: at compile time, with a sentence
template <class X>
consteval bool takes_matrices() {
  using T = element_of_t<X>;
  constexpr int rank = expression_of_t<X>::pattern.rank;
  constexpr bool has_rank = rank == 2 || rank == 3,
                 has_floats = std::is_same_v<T, float> || std::is_same_v<T, double>;
  static_assert(has_rank, "locus: a function of matrices takes one matrix, or a batch of them with "
                          "three axes; reshape its operand");
  static_assert(has_floats, "locus: a function of matrices takes float or double; write "
                            "cast<float>(x)");
  return has_rank && has_floats;
}
/// means: and the matrices may be square
template <class X>
consteval bool takes_square_matrices() {
  if constexpr (takes_matrices<X>()) {
    constexpr bool is_square = may_be_square(expression_of_t<X>::pattern);
    static_assert(is_square, "locus: this function takes square matrices, with as many rows as "
                             "columns; slice its operand, or use qr or svd");
    return is_square;
  } else
    return false;
}

/// means: the transposed matrices of an expression
template <class X>
constexpr auto turned(X const& x) {
  if constexpr (X::pattern.rank == 3)
    return transpose<0, 2, 1>(x);
  else
    return transpose(x);
}

namespace host {
inline namespace LOCUS_MODE {

template <class T>
struct workspace : locus::host::workspace<T> {
  explicit workspace(std::int64_t numbers)
      : locus::host::workspace<T>(numbers, "a function of matrices; give it smaller ones") {}
};

/// means: f(k) for each matrix of a batch, on several threads: a task takes a range of matrices
/// units: operations of one matrix
template <class F>
void for_each_matrix(std::int64_t matrices, double operations, F const& f) {
  parallel_for(matrices, threads_worth(static_cast<float>(double(matrices) * operations / 4)), f);
}
/// means: what a matrix without a result is filled with
template <class T>
void fill_with_nan(T* to, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] = std::numeric_limits<T>::quiet_NaN();
}
/// means: no element is infinite or NaN: the libraries need not end where one is
template <class T>
bool all_finite(T const* from, std::int64_t elements) {
  T sum = 0;
  for (std::int64_t i = 0; i < elements; ++i) sum += from[i] * T(0);
  return sum == 0;
}
/// means: a vector turns around, with another one, unless its largest component is positive: the
///        first one that is as large as any, but for rounding
template <class T>
void orient(T* vector, std::int64_t n, T* other, std::int64_t m) {
  T most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = (std::max)(most, std::abs(vector[i]));
  std::int64_t i = 0;
  while (i < n && std::abs(vector[i]) < most * T(0.999)) ++i;
  if (i == n || vector[i] >= 0) return;
  for (std::int64_t k = 0; k < n; ++k) vector[k] = -vector[k];
  for (std::int64_t k = 0; k < m; ++k) other[k] = -other[k];
}
/// means: elements as doubles, for kernels of locus, which compute in double
template <class T, class U>
void copy_as(T const* from, U* to, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<U>(from[i]);
}
/// means: to[j, i] = from[i, j]     shape: from (rows, columns)
template <class T>
void turn(T const* from, T* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

}  // namespace LOCUS_MODE
}  // namespace host
}  // namespace locus::linalg
