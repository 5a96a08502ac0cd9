// SPDX-License-Identifier: Apache-2.0
// Operands with gaps: tiles of them are copied through buffers in the L1 cache, where packets find
// contiguous elements. A transposed operand is read along its own rows.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>              // LOCUS_FUNCTION, LOCUS_HAS_BODIES
#include <locus/engine/host/loop_kernel.hpp>  // loop_kernel
#include <locus/simd/transpose.hpp>           // transpose_square

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// means: element (r, j) is at `at + r * row + j * step`     units: bytes
struct grid {
  std::intptr_t at, step, row;
};

/// means: to(i, j) = from(j, i) for i < rows, j < n; the rows of both are contiguous
/// cost:  squares in registers; reads whole cache lines of `from`
template <class Word>
void transpose_words(grid to, grid from, std::int64_t rows, std::int64_t n) {
  constexpr int side = simd::square_side<Word>;
  constexpr std::intptr_t bytes = sizeof(Word);
  std::int64_t const whole_rows = rows / side * side, whole = n / side * side;
  auto const element = [&](std::int64_t i, std::int64_t j) {
    __builtin_memcpy(reinterpret_cast<void*>(to.at + i * to.row + j * bytes),
                     reinterpret_cast<void const*>(from.at + j * from.row + i * bytes),
                     sizeof(Word));
  };
  for (std::int64_t j = 0; j < whole; j += side) {
    for (std::int64_t i = 0; i < whole_rows; i += side)
      simd::transpose_square<Word>(to.at + i * to.row + j * bytes, to.row,
                                   from.at + j * from.row + i * bytes, from.row);
    for (std::int64_t e = j; e < j + side; ++e)
      for (std::int64_t i = whole_rows; i < rows; ++i) element(i, e);
  }
  for (std::int64_t j = whole; j < n; ++j)
    for (std::int64_t i = 0; i < rows; ++i) element(i, j);
}
/// means: to(r, j) = from(r, j) for r < rows, j < n; elements have the size of Word
template <class Word>
void copy_words(grid to, grid from, std::int64_t rows, std::int64_t n) {
  constexpr std::intptr_t bytes = sizeof(Word);
  if (rows > 1 && to.step == bytes && from.row == bytes)
    return transpose_words<Word>(to, {from.at, bytes, from.step}, rows, n);
  if (rows > 1 && to.row == bytes && from.step == bytes)
    return transpose_words<Word>({to.at, bytes, to.step}, from, n, rows);
  for (std::int64_t r = 0; r < rows; ++r, to.at += to.row, from.at += from.row) {
    std::intptr_t t = to.at, f = from.at;
    for (std::int64_t j = 0; j < n; ++j, t += to.step, f += from.step)
      __builtin_memcpy(reinterpret_cast<void*>(t), reinterpret_cast<void const*>(f), sizeof(Word));
  }
}
LOCUS_FUNCTION void copy_grid(int bytes, grid const& to, grid const& from, std::int64_t rows,
                              std::int64_t n);

/// means: packets cannot load the operand: its elements are neither contiguous nor one broadcast
///        value
inline bool has_gaps(std::intptr_t step, int bytes) {
  return bytes != 0 && step != 0 && step != bytes;
}

/// means: kernel.run(context, p) for operands with gaps, or for rows shorter than a packet: several
///        short rows become one, in which broadcast values are repeated
LOCUS_FUNCTION void run_through_tiles(loop_kernel const& kernel, void const* context,
                                      plane const& p);
/// not inlined, since two callers need it
[[gnu::noinline]] inline void run_tiles(loop_kernel const& kernel, void const* context,
                                        plane const& p) {
  run_through_tiles(kernel, context, p);
}

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host

#if LOCUS_HAS_BODIES
#include <locus/engine/host/bodies/tiles.hpp>  // bodies of the functions above
#endif
