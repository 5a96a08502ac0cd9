// SPDX-License-Identifier: Apache-2.0
// What the rules of operations over sparse matrices share: extents, columns, pieces.
#pragma once
#include <locus/core/macros.hpp>     // LOCUS_HOST_DEVICE
#include <locus/expr/call_rule.hpp>  // call_cut, call_axes
#include <locus/shape/tile.hpp>      // tile

namespace locus::sparse {

/// means: extents that may be equal when the program runs
constexpr bool may_be_equal(std::int64_t a, std::int64_t b) {
  return a == b || a == dyn || b == dyn;
}
/// means: the rows of a matrix with these offsets; dyn where they are open
constexpr std::int64_t rows_of(shape const& offsets) {
  return offsets.extent[0] == dyn ? dyn : offsets.extent[0] - 1;
}
/// means: offsets, and a column for each entry
constexpr bool are_parts(shape const& entries, shape const& columns, shape const& offsets) {
  return entries.rank == 1 && columns.rank == 1 && offsets.rank == 1 && offsets.extent[0] != 0 &&
         may_be_equal(entries.extent[0], columns.extent[0]);
}
/// means: a vector, or a matrix, with `rows` rows
constexpr bool has_rows(shape const& x, int rank, std::int64_t rows) {
  return x.rank == rank && may_be_equal(x.extent[0], rows);
}
constexpr shape with_rows(shape x, std::int64_t rows) {
  x.extent[0] = rows;
  return x;
}
/// means: the columns of a dense operand; a vector is one column
template <class T>
LOCUS_HOST_DEVICE constexpr std::int64_t wide_of(tile<T> const& x) {
  return x.rank == 2 ? x.extent[1] : 1;
}
template <class Index>
LOCUS_HOST_DEVICE constexpr std::int64_t rows_of(tile<Index const> const& offsets) {
  return offsets.extent[0] - 1;
}

/// means: dense operand number `Dense` may lie in pieces along its columns, as the result then does;
///        all others are whole
template <int Dense, int Rank>
constexpr call_cut cut_of_columns(call_axes const& found) {
  call_cut c;
  for (signed char& axis : c.operands.of) axis = call_cut::whole;
  bool others = false;  // of the four operands
  for (int k = 0; k < 4; ++k) others = others || (k != Dense && found[k] != call_cut::whole);
  c.fits = !others && Rank == 2 && found[Dense] == 1;
  if (c.fits) c.operands[Dense] = c.axis = 1;
  return c;
}

/// The number of columns of the matrix: part of the type, or known when the program runs.
template <class Rule, std::int64_t Columns>
struct with_columns : Rule {
  static constexpr std::int64_t columns = Columns;
  template <class... Shapes>
  static constexpr shape infer(int, Shapes const&... s) {
    return Rule::infer_for(Columns, s...);
  }
};
template <class Rule>
struct with_columns<Rule, dyn> : Rule {
  std::int64_t columns = dyn;
  template <class... Shapes>
  constexpr shape infer(int, Shapes const&... s) const {
    return Rule::infer_for(columns, s...);
  }
};
/// means: an operation over a matrix with as many columns
template <class Op>
constexpr Op over_columns(std::int64_t columns) {
  Op op;
  if constexpr (!std::is_empty_v<Op>) op.columns = columns;
  return op;
}

}  // namespace locus::sparse
