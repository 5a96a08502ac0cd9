// SPDX-License-Identifier: Apache-2.0
// Transposes small squares of elements in registers.
#pragma once
#include <cstdint>  // intptr_t

#include <locus/simd/native.hpp>  // vector, interleave_low

LOCUS_VECTORS_BEGIN
namespace locus::simd {
inline namespace LOCUS_MODE {

/// means: the side of a square that is transposed at once; 1: no such square
template <class Word>
inline constexpr int square_side = sizeof(Word) == 4   ? 4
                                   : sizeof(Word) == 8 ? 2
                                                       : 1;

/// means: element (i, j) of `to` = element (j, i) of `from`; rows are `to_row` and `from_row` bytes
///        apart
template <class Word>
LOCUS_VECTOR_FUNCTION void transpose_square(std::intptr_t to, std::intptr_t to_row,
                                            std::intptr_t from, std::intptr_t from_row) {
  constexpr int side = square_side<Word>;
  auto const put = [&](int i, auto const& v) __attribute__((always_inline)) {
    __builtin_memcpy(reinterpret_cast<void*>(to + i * to_row), &v, sizeof v);
  };
  if constexpr (side == 1) {
    Word one;
    __builtin_memcpy(&one, reinterpret_cast<void const*>(from), sizeof one);
    put(0, one);
  } else {
    vector<Word, side> r[side];
    LOCUS_UNROLL for (int i = 0; i < side; ++i)
        __builtin_memcpy(&r[i], reinterpret_cast<void const*>(from + i * from_row), sizeof r[i]);
    if constexpr (side == 2) {
      put(0, interleave_low(r[0], r[1])), put(1, interleave_high(r[0], r[1]));
    } else {
      using pair = vector<std::uint64_t, 2>;
      auto const a = (pair)interleave_low(r[0], r[1]), b = (pair)interleave_high(r[0], r[1]);
      auto const c = (pair)interleave_low(r[2], r[3]), d = (pair)interleave_high(r[2], r[3]);
      put(0, interleave_low(a, c)), put(1, interleave_high(a, c));
      put(2, interleave_low(b, d)), put(3, interleave_high(b, d));
    }
  }
}

}  // namespace LOCUS_MODE
}  // namespace locus::simd
LOCUS_VECTORS_END
