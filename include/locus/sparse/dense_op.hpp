// SPDX-License-Identifier: Apache-2.0
// A sparse matrix as a dense one, its diagonal, and the elements of a dense matrix at its entries:
// steps of a plan.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_HOST_DEVICE
#include <locus/ops/call.hpp>             // call, call_rule, tile
#include <locus/sparse/host_kernels.hpp>  // for_rows
#include <locus/sparse/rules.hpp>         // with_columns, over_columns, are_parts

namespace locus::sparse {

inline constexpr call_roles three_whole{call_role::whole, call_role::whole, call_role::whole};

/// means: the sum of the entries in [e, end) that lie in `column`
template <class T, class Index>
LOCUS_HOST_DEVICE T sum_in_column(T const* values, Index const* at, std::int64_t e,
                                  std::int64_t end, std::int64_t column) {
  double sum = 0;
  for (; e < end; ++e)
    if (static_cast<std::int64_t>(at[e]) == column) sum += values[e];
  return static_cast<T>(sum);
}

template <std::int64_t Columns>
struct pick_op;

struct dense_rule {
  static constexpr call_rule rule{.name = "sparse.to_dense",
                                  .operands = three_whole,
                                  .results = {call_role::whole},
                                  .tensorflow = "SparseToDense",
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape values, shape at, shape offsets) {
    if (!are_parts(values, at, offsets)) return no_shape;
    return {2, {rows_of(offsets), columns}};
  }
};
/// means: r[i, j] = the sum of the entries of row i with column j; 0 where there is none
template <std::int64_t Columns>
struct dense_op : with_columns<dense_rule, Columns> {
  template <class T, class Index>
  void host(call_context const&, tile<T> r, tile<T const> values, tile<Index const> at,
            tile<Index const> offsets) const {
    std::int64_t const wide = r.extent[1];
    host::for_rows(rows_of(offsets), offsets.data, 1 + 0.2f * static_cast<float>(wide),
                   [=](std::int64_t first, std::int64_t last) {
                     host::workspace<double> const memory(wide);
                     double* const row = memory.data();
                     for (std::int64_t i = first; i < last; ++i) {
                       for (std::int64_t j = 0; j < wide; ++j) row[j] = 0;
                       for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
                         row[at[e]] += values[e];
                       for (std::int64_t j = 0; j < wide; ++j)
                         r[i * wide + j] = static_cast<T>(row[j]);
                     }
                   });
  }
  template <int, class T, class Index>
  LOCUS_HOST_DEVICE T element(std::int64_t k, call_context const&, tile<T> r, tile<T const> values,
                              tile<Index const> at, tile<Index const> offsets) const {
    std::int64_t const row = k / r.extent[1];
    return sum_in_column(values.data, at.data, offsets[row], offsets[row + 1], k % r.extent[1]);
  }
  template <class G, class Y, class V, class At, class Offsets>
  constexpr auto pullback(G const& g, Y const&, V const&, At const& at,
                          Offsets const& offsets) const {
    return call(over_columns<pick_op<Columns>>(this->columns), g, at, offsets);
  }
};

struct pick_rule {
  static constexpr call_rule rule{.name = "sparse.pick",
                                  .operands = three_whole,
                                  .results = {call_role::whole},
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape x, shape at, shape offsets) {
    bool const fits = are_parts(at, at, offsets) && has_rows(x, 2, rows_of(offsets)) &&
                      may_be_equal(x.extent[1], columns);
    return fits ? at : no_shape;
  }
};
/// means: r[e] = x[row of e, at[e]]: the adjoint of values, where x is that of the dense matrix
template <std::int64_t Columns>
struct pick_op : with_columns<pick_rule, Columns> {
  template <int, class T, class Index>
  LOCUS_HOST_DEVICE T element(std::int64_t e, call_context const&, tile<T>, tile<T const> x,
                              tile<Index const> at, tile<Index const> offsets) const {
    return x[row_of_entry(offsets.data, rows_of(offsets), e) * x.extent[1] +
             static_cast<std::int64_t>(at[e])];
  }
  template <class G, class Y, class X, class At, class Offsets>
  constexpr auto pullback(G const& g, Y const&, X const&, At const& at,
                          Offsets const& offsets) const {
    return call(over_columns<dense_op<Columns>>(this->columns), g, at, offsets);
  }
};

struct diagonal_rule {
  static constexpr call_rule rule{.name = "sparse.diagonal",
                                  .operands = three_whole,
                                  .results = {call_role::whole},
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape values, shape at, shape offsets) {
    if (!are_parts(values, at, offsets)) return no_shape;
    std::int64_t const rows = rows_of(offsets);
    return {1, {rows == dyn || columns == dyn ? dyn : rows < columns ? rows : columns}};
  }
};
/// means: r[i] = the sum of the entries of row i with column i     shape: the smaller extent
template <std::int64_t Columns>
struct diagonal_op : with_columns<diagonal_rule, Columns> {
  template <int, class T, class Index>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> values,
                              tile<Index const> at, tile<Index const> offsets) const {
    return sum_in_column(values.data, at.data, offsets[i], offsets[i + 1], i);
  }
};

}  // namespace locus::sparse
