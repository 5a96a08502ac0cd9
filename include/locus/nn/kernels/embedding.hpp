// SPDX-License-Identifier: Apache-2.0
// Rows of a table, chosen by number, and the gradient of the table: the different numbers in rising
// order, with the sums of their rows. The gradient never exists as a whole table.
#pragma once
#include <cstdint>  // int32_t, int64_t, uint64_t

#include <locus/core/error.hpp>            // shape_error
#include <locus/nn/kernels/workspace.hpp>  // workspace
#include <locus/runtime/threads.hpp>       // parallel_for, threads_worth
#include <locus/simd/native.hpp>           // vector

namespace locus::nn {

LOCUS_COLD_BEGIN
/// fails: shape_error for a token without a row
/// units: position: tokens in front of it in the batch; `each`: tokens of an example
[[noreturn]] inline void refuse_token(std::int64_t token, std::int64_t position, std::int64_t each,
                                      std::int64_t vocabulary) {
  message text;
  text << "locus: token " << token << " at position " << (each ? position % each : 0)
       << " of example " << (each ? position / each : 0)
       << " is outside of the vocabulary: the Embedding has rows 0 to " << vocabulary - 1
       << "; give it more rows, or map rare words to one token";
  throw shape_error(text);
}
/// fails: shape_error for a gradient of a row that the table has not
/// units: position: numbers in front of it
[[noreturn]] inline void refuse_row_gradient(std::int64_t row, std::int64_t position,
                                             std::int64_t rows) {
  message text;
  text << "locus: a gradient is for row " << row << " (element " << position
       << " of the numbers of its rows), and the table has ";
  if (rows > 0)
    text << "rows 0 to " << rows - 1;
  else
    text << "no rows";
  throw shape_error(text << "; give it the numbers by which the rows were read");
}
LOCUS_COLD_END

namespace host {
inline namespace LOCUS_MODE {

/// means: y[i] = table[tokens[i]], rows of `width` numbers
/// fails: shape_error, which names the first token without a row, its place and the vocabulary
/// shape: `each` tokens are one example; `first`: the number of the first example
template <class T, class Token>
void gather_rows(T const* table, std::int64_t vocabulary, std::int64_t width, Token const* tokens,
                 std::int64_t n, T* y, std::int64_t each = 0, std::int64_t first = 0) {
  std::int64_t const bytes = width * std::int64_t(sizeof(T)), block = 1024;
  std::int64_t const blocks = (n + block - 1) / block;
  int const threads = threads_worth(static_cast<float>(n * (bytes + 16)) * 0.04f);
  auto const* const from = reinterpret_cast<unsigned char const*>(table);
  auto* const to = reinterpret_cast<unsigned char*>(y);
  parallel_for(static_cast<int>(blocks), threads, [&](int task) {
    std::int64_t const begin = task * block, end = begin + block < n ? begin + block : n;
    // whole registers read and write beyond a row, but only where the table has more rows and later
    // rows of y overwrite that
    using piece = simd::vector<unsigned char, 32>;
    std::int64_t const pieces = (bytes + 31) / 32,
                       more = (pieces * 32 - bytes + bytes - 1) / (bytes ? bytes : 1);
    for (std::int64_t i = begin; i < end; ++i) {
      auto const row = static_cast<std::int64_t>(tokens[i]);
      if (row < 0 || row >= vocabulary) refuse_token(row, first * each + i, each, vocabulary);
      if (i + 16 < end)
        __builtin_prefetch(from + static_cast<std::int64_t>(tokens[i + 16]) * bytes);
      unsigned char const* const source = from + row * bytes;
      unsigned char* const target = to + i * bytes;
      if (bytes <= 128 && i + more < end && row + more < vocabulary) {
        for (std::int64_t p = 0; p < pieces; ++p) {
          piece v;
          __builtin_memcpy(&v, source + 32 * p, 32);
          __builtin_memcpy(target + 32 * p, &v, 32);
        }
      } else
        __builtin_memcpy(target, source, static_cast<std::size_t>(bytes));
    }
  });
}

/// means: rows = the different tokens in rising order, then `vocabulary` in the rest; sums[i] = the
///        sum of the rows of dy whose token is rows[i], zeros in the rest
/// shape: tokens (n), dy (n, width), rows (n), sums (n, width)
/// fails: shape_error, which names the first number without a row, its place and the rows
/// after: rows are added in the order of the batch: no bit depends on the number of threads
/// cost:  one pass over the tokens for each 11 bits of the vocabulary, one over dy
template <class T, class Token>
std::int64_t sum_rows_by_token(std::int64_t vocabulary, std::int64_t width, Token const* tokens,
                               std::int64_t n, T const* dy, std::int32_t* rows, T* sums) {
  if (n == 0) return 0;
  // each word has the token in its upper half and the position in its lower half; the words are
  // sorted by digits of the token
  workspace<std::uint64_t> const memory(2 * n + n + 2);
  std::uint64_t *from = memory.data(), *to = from + n;
  auto* const starts = reinterpret_cast<std::int64_t*>(to + n);  // where each row's segment begins
  for (std::int64_t i = 0; i < n; ++i) {
    auto const token = static_cast<std::int64_t>(tokens[i]);
    if (token < 0 || token >= vocabulary) refuse_row_gradient(token, i, vocabulary);
    from[i] = static_cast<std::uint64_t>(token) << 32 | static_cast<std::uint64_t>(i);
  }
  int bits = 1;
  while (bits < 31 && (vocabulary - 1) >> bits) ++bits;
  int const passes = (bits + 10) / 11, digit = (bits + passes - 1) / passes;
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t counts[2049]{};
    int const shift = 32 + pass * digit;
    std::uint64_t const mask = (std::uint64_t(1) << digit) - 1;
    for (std::int64_t i = 0; i < n; ++i) ++counts[(from[i] >> shift & mask) + 1];
    for (std::uint64_t d = 0; d < mask; ++d) counts[d + 1] += counts[d];
    for (std::int64_t i = 0; i < n; ++i) to[counts[from[i] >> shift & mask]++] = from[i];
    std::uint64_t* const other = from;
    from = to, to = other;
  }
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (i == 0 || from[i] >> 32 != from[i - 1] >> 32) {
      rows[found] = static_cast<std::int32_t>(from[i] >> 32);
      starts[found++] = i;
    }
  starts[found] = n;
  for (std::int64_t i = found; i < n; ++i) rows[i] = static_cast<std::int32_t>(vocabulary);
  std::int64_t const block = 512, blocks = (n + block - 1) / block;
  int const threads = threads_worth(static_cast<float>(n * (width + 8)) * 0.15f);
  parallel_for(static_cast<int>(blocks), threads, [&](int task) {
    std::int64_t const begin = task * block, end = begin + block < n ? begin + block : n;
    for (std::int64_t i = begin; i < end; ++i) {
      T* const sum = sums + i * width;
      if (i >= found) {
        __builtin_memset(static_cast<void*>(sum), 0, sizeof(T) * static_cast<std::size_t>(width));
        continue;
      }
      T const* row = dy + static_cast<std::int64_t>(from[starts[i]] & 0xffffffffu) * width;
      for (std::int64_t c = 0; c < width; ++c) sum[c] = row[c];
      for (std::int64_t j = starts[i] + 1; j < starts[i + 1]; ++j) {
        row = dy + static_cast<std::int64_t>(from[j] & 0xffffffffu) * width;
        for (std::int64_t c = 0; c < width; ++c) sum[c] += row[c];
      }
    }
  });
  return found;
}

}  // namespace LOCUS_MODE
}  // namespace host
}  // namespace locus::nn
