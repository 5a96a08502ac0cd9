// SPDX-License-Identifier: Apache-2.0
// Rows of a table, chosen by number, as a step of a plan; and the table's gradient: sorted row
// numbers and their sums. The table lies flat as (vocabulary, width).
#pragma once
#include <type_traits>  // conditional

#include <locus/nn/kernels/embedding.hpp>  // gather_rows, sum_rows_by_token
#include <locus/ops/call.hpp>              // call_rule, tile
#if LOCUS_CUDA_KERNELS
#include <locus/nn/kernels/embedding_card.hpp>  // cards::gather_rows, sum_rows_by_token
#endif

namespace locus::nn {

/// means: y[b][i] = row tokens[b][i] of the table
/// shape: (rows, tokens), flat table -> (rows, tokens, width)
/// fails: on the host, shape_error that names token, place and vocabulary; a GPU gives rows of NaN,
///        which show in the loss
struct embedding_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "embedding",
                                  .operands = {rows, whole},
                                  .results = {rows},
                                  .tensorflow = "GatherV2",
                                  .fixed_bits = true};
  std::int64_t width = 1;

  template <int, class Token, class T>
  using result = T;
  constexpr shape infer(int, shape tokens, shape table) const {
    if (tokens.rank != 2 || table.rank != 1) return no_shape;
    if (table.is_static() && table.extent[0] % width != 0) return no_shape;
    bool const open = !tokens.is_static() || !table.is_static();
    return {3, {tokens.extent[0], tokens.extent[1], open ? dyn : width}};
  }
  template <class T, class Token>
  void host(call_context const& here, tile<T> y, tile<Token const> tokens,
            tile<T const> table) const {
    host::gather_rows(table.data, table.extent[0] / width, width, tokens.data, tokens.size(),
                      y.data, tokens.extent[1], here.first_row);
  }
  template <class T, class Token>
  void card(card_context& here, tile<T> y, tile<Token const> tokens, tile<T const> table) const;
};

/// means: result 0: the different tokens in rising order, then `vocabulary` in the rest; result 1:
///        for each of them the sum of its rows of dy, 0 in the rest
/// shape: tokens (b...), dy (b..., width) -> (size of b), (size of b, width)
/// after: rows are added in the order of the batch: the same bits on every replica
struct embedding_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "embedding_gradient",
                                  .operands = {whole, whole},
                                  .results = {whole, whole},
                                  .tensorflow = "UnsortedSegmentSum"};
  std::int64_t vocabulary = 1;

  template <int Result, class Token, class T>
  using result = std::conditional_t<Result == 0, std::int32_t, T>;
  constexpr shape infer(int r, shape tokens, shape dy) const {
    if (tokens.rank < 1 || dy.rank != tokens.rank + 1) return no_shape;
    if (!tokens.is_static() || !dy.is_static())
      return r == 0 ? shape{1, {dyn}} : shape{2, {dyn, dyn}};
    for (int a = 0; a < tokens.rank; ++a)
      if (tokens.extent[a] != dy.extent[a]) return no_shape;
    return r == 0 ? shape{1, {tokens.size()}} : shape{2, {tokens.size(), dy.extent[tokens.rank]}};
  }
  static constexpr std::int64_t operations(shape, shape tokens, shape dy) {
    return 16 * tokens.size() + dy.size();
  }
  template <class T, class Token>
  void host(call_context const&, tile<std::int32_t> unique, tile<T> sums, tile<Token const> tokens,
            tile<T const> dy) const {
    std::int64_t const n = tokens.size();
    host::workspace<std::int32_t> const unread(unique.data ? 0 : n);
    host::workspace<T> const unread_sums(sums.data ? 0 : dy.size());
    host::sum_rows_by_token(vocabulary, dy.extent[tokens.rank], tokens.data, n, dy.data,
                            unique.data ? unique.data : unread.data(),
                            sums.data ? sums.data : unread_sums.data());
  }
  /// means: as host(), bit for bit; a token without a row is no error here: it counts as
  ///        `vocabulary`
  template <class T, class Token>
  void card(card_context& here, tile<std::int32_t> unique, tile<T> sums, tile<Token const> tokens,
            tile<T const> dy) const;
};

#if LOCUS_CUDA_KERNELS
template <class T, class Token>
void embedding_op::card(card_context& here, tile<T> y, tile<Token const> tokens,
                        tile<T const> table) const {
  cards::gather_rows(here, table.data, table.extent[0] / width, width, tokens.data, tokens.size(),
                     y.data);
}
template <class T, class Token>
void embedding_gradient_op::card(card_context& here, tile<std::int32_t> unique, tile<T> sums,
                                 tile<Token const> tokens, tile<T const> dy) const {
  cards::sum_rows_by_token(here, vocabulary, dy.extent[tokens.rank], tokens.data, tokens.size(),
                           dy.data, unique.data, sums.data);
}
#endif

}  // namespace locus::nn
