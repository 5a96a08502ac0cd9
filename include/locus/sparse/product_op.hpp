// SPDX-License-Identifier: Apache-2.0
// Products of a sparse matrix as steps of a plan: rules and kernels. Each is in the derivatives of
// the others.
#pragma once
#include <locus/core/macros.hpp>          // LOCUS_HOST_DEVICE
#include <locus/core/pack.hpp>            // make_pack
#include <locus/ops/call.hpp>             // call, call_rule, tile
#include <locus/sparse/host_kernels.hpp>  // times_vector, times_matrix, turned_times, at_entries
#include <locus/sparse/rules.hpp>         // with_columns, over_columns, are_parts
#if LOCUS_CUDA_KERNELS
#include <locus/sparse/turned_card.hpp>  // cards::turned_times
#endif

namespace locus::sparse {

inline constexpr call_roles four_whole{call_role::whole, call_role::whole, call_role::whole,
                                       call_role::whole};

template <int Rank>
struct product_rule {
  static constexpr call_rule rule{.name = "sparse.matmul",
                                  .operands = four_whole,
                                  .results = {call_role::rows},
                                  .tensorflow = "SparseTensorDenseMatMul",
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape values, shape x, shape at,
                                   shape offsets) {
    if (!are_parts(values, at, offsets) || !has_rows(x, Rank, columns)) return no_shape;
    return with_rows(x, rows_of(offsets));
  }
  static constexpr std::int64_t operations(shape const&, shape const& values, shape const& x, shape,
                                           shape) {
    return 2 * values.size() * (Rank == 2 ? x.extent[1] : 1);
  }
  static constexpr call_cut cut(call_axes const& found) { return cut_of_columns<1, Rank>(found); }
};
template <int Rank>
struct turned_rule : product_rule<Rank> {
  static constexpr call_rule rule{.name = "sparse.matmul.turned",
                                  .operands = four_whole,
                                  .results = {call_role::rows},
                                  .tensorflow = "SparseTensorDenseMatMul",
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape values, shape g, shape at,
                                   shape offsets) {
    if (!are_parts(values, at, offsets) || !has_rows(g, Rank, rows_of(offsets))) return no_shape;
    return with_rows(g, columns);
  }
};
template <int Rank>
struct entries_rule {
  static constexpr call_rule rule{.name = "sparse.entries",
                                  .operands = four_whole,
                                  .results = {call_role::whole},
                                  .fixed_bits = true};
  static constexpr shape infer_for(std::int64_t columns, shape g, shape x, shape at,
                                   shape offsets) {
    if (!are_parts(at, at, offsets) || !has_rows(g, Rank, rows_of(offsets)) ||
        !has_rows(x, Rank, columns))
      return no_shape;
    if (Rank == 2 && !may_be_equal(g.extent[1], x.extent[1])) return no_shape;
    return at;
  }
  static constexpr std::int64_t operations(shape const& r, shape const& g, shape, shape, shape) {
    return 2 * r.size() * (Rank == 2 ? g.extent[1] : 1);
  }
};

template <int Rank, std::int64_t Columns>
struct turned_op;
template <int Rank, std::int64_t Columns>
struct entries_op;

/// means: y[i, c] = the sum of values[e] x[at[e], c] over the entries e of row i
/// shape: values, at (entries), offsets (rows + 1), x (columns) or (columns, wide), y (rows) or
///        (rows, wide)
/// device: x and y whole, or in pieces along their axis 1
template <int Rank, std::int64_t Columns>
struct product_op : with_columns<product_rule<Rank>, Columns> {
  template <class T, class Index>
  void host(call_context const&, tile<T> y, tile<T const> values, tile<T const> x,
            tile<Index const> at, tile<Index const> offsets) const {
    if constexpr (Rank == 1)
      host::times_vector(rows_of(offsets), offsets.data, at.data, values.data, x.data, y.data);
    else
      host::times_matrix(rows_of(offsets), offsets.data, at.data, values.data, x.data, wide_of(x),
                         y.data);
  }
  /// means: one thread for a row, or for a number of the result: the bits of host()
  template <int, class T, class Index>
  LOCUS_HOST_DEVICE T element(std::int64_t k, call_context const&, tile<T>, tile<T const> values,
                              tile<T const> x, tile<Index const> at,
                              tile<Index const> offsets) const {
    std::int64_t const wide = wide_of(x), row = k / wide;
    if constexpr (Rank == 1)
      return static_cast<T>(
          sum_of_row(values.data, at.data, x.data, offsets[row], offsets[row + 1]));
    else
      return static_cast<T>(
          sum_of_row(values.data, at.data, x.data, offsets[row], offsets[row + 1], k % wide, wide));
  }
  template <class G, class Y, class V, class X, class At, class Offsets>
  constexpr auto pullback(G const& g, Y const&, V const& values, X const& x, At const& at,
                          Offsets const& offsets) const {
    return make_pack(
        call(over_columns<entries_op<Rank, Columns>>(this->columns), g, x, at, offsets),
        call(over_columns<turned_op<Rank, Columns>>(this->columns), values, g, at, offsets));
  }
};

/// means: r[j, c] = the sum of values[e] g[row of e, c] over the entries e with at[e] == j, in the
///        order of the rows: the adjoint of x
/// shape: as product_op, with g (rows...) in place of x and r (columns...) in place of y
template <int Rank, std::int64_t Columns>
struct turned_op : with_columns<turned_rule<Rank>, Columns> {
  template <class T, class Index>
  void host(call_context const&, tile<T> r, tile<T const> values, tile<T const> g,
            tile<Index const> at, tile<Index const> offsets) const {
    host::turned_times(rows_of(offsets), offsets.data, at.data, values.data, g.data, wide_of(g),
                       r.data, r.extent[0]);
  }
  template <class T, class Index>
  void card(card_context& here, tile<T> r, tile<T const> values, tile<T const> g,
            tile<Index const> at, tile<Index const> offsets) const;
  template <class G, class Y, class V, class X, class At, class Offsets>
  constexpr auto pullback(G const& g, Y const&, V const& values, X const& x, At const& at,
                          Offsets const& offsets) const {
    return make_pack(
        call(over_columns<entries_op<Rank, Columns>>(this->columns), x, g, at, offsets),
        call(over_columns<product_op<Rank, Columns>>(this->columns), values, g, at, offsets));
  }
};

/// means: r[e] = the sum over c of g[row of e, c] x[at[e], c]: the adjoint of values
/// shape: g (rows...), x (columns...), r (entries); device: whole
template <int Rank, std::int64_t Columns>
struct entries_op : with_columns<entries_rule<Rank>, Columns> {
  template <class T, class Index>
  void host(call_context const&, tile<T> r, tile<T const> g, tile<T const> x, tile<Index const> at,
            tile<Index const> offsets) const {
    host::at_entries(rows_of(offsets), offsets.data, at.data, g.data, x.data, wide_of(g), r.data);
  }
  template <int, class T, class Index>
  LOCUS_HOST_DEVICE T element(std::int64_t e, call_context const&, tile<T>, tile<T const> g,
                              tile<T const> x, tile<Index const> at,
                              tile<Index const> offsets) const {
    std::int64_t const row = row_of_entry(offsets.data, rows_of(offsets), e), wide = wide_of(g);
    return static_cast<T>(product_of_rows(g.data + row * wide,
                                          x.data + static_cast<std::int64_t>(at[e]) * wide, wide));
  }
  template <class G, class Y, class Left, class X, class At, class Offsets>
  constexpr auto pullback(G const& g, Y const&, Left const& left, X const& x, At const& at,
                          Offsets const& offsets) const {
    return make_pack(
        call(over_columns<product_op<Rank, Columns>>(this->columns), g, x, at, offsets),
        call(over_columns<turned_op<Rank, Columns>>(this->columns), g, left, at, offsets));
  }
};

#if LOCUS_CUDA_KERNELS
template <int Rank, std::int64_t Columns>
template <class T, class Index>
void turned_op<Rank, Columns>::card(card_context& here, tile<T> r, tile<T const> values,
                                    tile<T const> g, tile<Index const> at,
                                    tile<Index const> offsets) const {
  cards::turned_times(here, rows_of(offsets), at.size(), offsets.data, at.data, values.data, g.data,
                      wide_of(g), r.data, r.extent[0]);
}
#endif

}  // namespace locus::sparse
