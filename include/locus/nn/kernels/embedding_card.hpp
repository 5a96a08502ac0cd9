// SPDX-License-Identifier: Apache-2.0
// An embedding on a GPU copies rows in vectors. Its gradient sorts tokens with their places, finds
// the first of each run of equal tokens, and has a thread for each number of a sum, which adds in
// the order of the batch.
#pragma once
#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient
#include <locus/engine/gpu/selects.hpp>       // first_of_runs
#include <locus/engine/gpu/sorts.hpp>         // sort_pairs
#include <locus/engine/gpu/vectors.hpp>       // vector_of, are_vectors

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// Vector i of four neighbouring rows of the result: a thread has four loads in flight.
template <class T, class Token, int Size>
struct gathered_rows {
  static constexpr int rows = 4;
  using vector = cuda_side::vector_of<T, Size>;
  cuda_side::quotient width;  // in vectors
  std::int64_t vocabulary, n;
  Token const* tokens;
  T const* table;
  T* y;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const first = width.divide(i) * rows;
    vector values[rows];
    for (int r = 0; r < rows; ++r) {
      auto const token = first + r < n ? static_cast<std::int64_t>(tokens[first + r]) : -1;
      if (token >= 0 && token < vocabulary)
        values[r] = reinterpret_cast<vector const*>(table)[token * width.wide + i];
      else
        for (int j = 0; j < Size; ++j) values[r].element[j] = T(__builtin_nanf(""));
    }
    for (int r = 0; r < rows; ++r)
      if (first + r < n)
        cuda_side::store_whole(y + ((first + r) * width.wide + i) * Size, values[r]);
  }
};

/// means: y[i] = table[tokens[i]]; a row of NaN for a token without a row
/// shape: table (vocabulary, width), y (n, width)
template <class T, class Token>
void gather_rows(card_context& here, T const* table, std::int64_t vocabulary, std::int64_t width,
                 Token const* tokens, std::int64_t n, T* y) {
  auto const in_vectors = [&]<int Size>(std::integral_constant<int, Size>) {
    using body = gathered_rows<T, Token, Size>;
    std::int64_t const wide = width / Size, vectors = (n + body::rows - 1) / body::rows * wide;
    here.each(vectors, body{{wide, vectors}, vocabulary, n, tokens, table, y});
  };
  cuda_side::are_vectors(width, table, y)
      ? in_vectors(std::integral_constant<int, cuda_side::vector_elements<T>>{})
      : in_vectors(std::integral_constant<int, 1>{});
}

/// Token i as a key, with its place; a token without a row becomes `vocabulary`.
template <class Token>
struct token_keys {
  std::int64_t vocabulary;
  Token const* tokens;
  std::int32_t *keys, *places;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto const token = static_cast<std::int64_t>(tokens[i]);
    keys[i] = static_cast<std::int32_t>(token < 0 || token > vocabulary ? vocabulary : token);
    places[i] = static_cast<std::int32_t>(i);
  }
};

/// Number i of the results: row i / (width + 1) has its token, then the `width` numbers of its sum.
template <class T>
struct run_sums {
  std::int64_t vocabulary, width, n;
  std::int32_t const *runs, *first, *count, *places;
  T const* dy;
  std::int32_t* rows;  // null: not stored
  T* sums;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t const row = i / (width + 1), column = i % (width + 1) - 1, found = *count;
    std::int64_t const token = row < found ? runs[row] : vocabulary;
    if (column < 0) {
      if (rows) rows[row] = static_cast<std::int32_t>(token);
      return;
    }
    if (!sums) return;
    T sum = T(0);
    if (token < vocabulary) {
      std::int64_t const begin = first[row], end = row + 1 < found ? first[row + 1] : n;
      sum = dy[places[begin] * width + column];
      for (std::int64_t k = begin + 1; k < end; ++k) sum += dy[places[k] * width + column];
    }
    sums[row * width + column] = sum;
  }
};

/// means: as host::sum_rows_by_token, bit for bit; a token without a row counts as `vocabulary`,
///        with a sum of 0
/// shape: n < 2^31 tokens, dy (n, width) -> rows (n), sums (n, width)
template <class T, class Token>
void sum_rows_by_token(card_context& here, std::int64_t vocabulary, std::int64_t width,
                       Token const* tokens, std::int64_t n, T const* dy, std::int32_t* rows,
                       T* sums) {
  using number = std::int32_t;
  number* const keys = here.take<number>(n);
  number* const places = here.take<number>(n);
  number* const sorted = here.take<number>(n);
  number* const order = here.take<number>(n);
  number* const runs = here.take<number>(n);
  number* const first = here.take<number>(n);
  number* const count = here.take<number>(1);
  int bits = 1;  // of `vocabulary` itself
  while (bits < 31 && vocabulary >> bits) ++bits;
  here.each(n, token_keys<Token>{vocabulary, tokens, keys, places});
  here.run(cuda_side::sort_pairs<number, number>{n, keys, places, sorted, order, bits});
  here.run(cuda_side::first_of_runs<number, number>{n, sorted, runs, first, count});
  here.each(n * (width + 1),
            run_sums<T>{vocabulary, width, n, runs, first, count, order, dy, rows, sums});
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
