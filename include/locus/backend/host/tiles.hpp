// SPDX-License-Identifier: Apache-2.0
// Operands with gaps: tiles of them pass through buffers that stay in the first cache, where packets
// find their elements side by side. A transposed operand is read along its own rows.
#pragma once
#include <cstdint>  // int64_t

#include <locus/backend/host/loop_kernel.hpp>  // plane, loop_kernel
#include <locus/simd/transpose.hpp>            // transpose_square

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: (r, j) is at `at + r * row + j * step`     units: bytes
struct grid {
  std::intptr_t at, step, row;
};

/// means: to(i, j) = from(j, i) for i < rows, j < n; both lie side by side along their rows
/// cost:  squares in registers; whole cache lines of `from` at a time
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
/// means: to(r, j) = from(r, j) for r < rows, j < n; elements are as large as a Word
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
inline void copy_grid(int bytes, grid const& to, grid const& from, std::int64_t rows,
                      std::int64_t n) {
  switch (bytes) {
  case 1: return copy_words<std::uint8_t>(to, from, rows, n);
  case 2: return copy_words<std::uint16_t>(to, from, rows, n);
  case 4: return copy_words<std::uint32_t>(to, from, rows, n);
  case 8: return copy_words<std::uint64_t>(to, from, rows, n);
  default: break;  // elements of packets have no other size
  }
}

/// What is in the way of packets: an operand whose elements neither lie side by side nor are one.
inline bool has_gaps(std::intptr_t step, int bytes) {
  return bytes != 0 && step != 0 && step != bytes;
}

/// means: kernel.run(context, p), where operands may have gaps, or rows may be shorter than a packet:
///        such rows become one, in which what is broadcast is repeated
[[gnu::noinline]] inline void run_tiles(loop_kernel const& kernel, void const* context,
                                        plane const& p) {
  constexpr std::int64_t room = 1 << 15, across = 32, along = 128;
  alignas(64) unsigned char buffers[room];
  int const all = kernel.ins + kernel.outs;
  auto const is_one_row = [&](plane_operand const& o) { return o.row == p.n * o.step; };
  bool flat = p.n < kernel.lanes && p.rows > 1;
  for (int k = 0; k < kernel.ins; ++k)
    flat = flat && (kernel.bytes[k] != 0 || is_one_row(p.operands[k]));
  auto const is_copied = [&](int k) {
    plane_operand const& o = p.operands[k];
    return kernel.bytes[k] != 0 && (has_gaps(o.step, kernel.bytes[k]) || (flat && !is_one_row(o)));
  };
  std::int64_t element = 0;  // bytes of one element of every operand that is copied
  bool transposed = false;
  for (int k = 0; k < all; ++k)
    if (is_copied(k)) {
      element += kernel.bytes[k];
      transposed = transposed || p.operands[k].row == kernel.bytes[k];
    }
  if (element == 0) return kernel.run(context, p);
  std::int64_t const most = room / element / 64 * 64;  // elements of a tile
  std::int64_t width = p.n, height = 1;
  if (flat)
    height = (most < 1024 ? most : 1024) / p.n;
  else if (transposed)
    height = most < across * along ? most / along : across, width = along;
  else
    width = (p.n + 63) / 64 * 64 < most ? (p.n + 63) / 64 * 64 : most, height = most / width;
  if (height > p.rows) height = p.rows;
  if (height < 1) height = 1, width = most;
  auto* const t = static_cast<plane_operand*>(
      __builtin_alloca(static_cast<std::size_t>(all) * sizeof(plane_operand)));
  for (std::int64_t r = 0; r < p.rows; r += height)
    for (std::int64_t j = 0; j < p.n; j += width) {
      std::int64_t const h = p.rows - r < height ? p.rows - r : height,
                         w = p.n - j < width ? p.n - j : width;
      auto const each = [&](auto const& see) {
        auto* buffer = buffers;
        for (int k = 0; k < all; ++k) {
          plane_operand const& o = p.operands[k];
          std::intptr_t const at = o.at + r * o.row + j * o.step, bytes = kernel.bytes[k];
          t[k] = {at, o.step, o.row};
          if (!is_copied(k)) continue;
          grid const tile{reinterpret_cast<std::intptr_t>(buffer), bytes, width * bytes};
          t[k] = {tile.at, tile.step, tile.row};
          see(k, tile, grid{at, o.step, o.row});
          buffer += width * height * bytes;
        }
      };
      each([&](int k, grid const& tile, grid const& lies) {
        bool const repeated = flat && r > 0 && lies.row == 0;
        if (k < kernel.ins && !repeated) copy_grid(kernel.bytes[k], tile, lies, h, w);
      });
      kernel.run(context, {t, flat ? 1 : h, flat ? h * w : w, p.streams});
      each([&](int k, grid const& tile, grid const& lies) {
        if (k >= kernel.ins) copy_grid(kernel.bytes[k], lies, tile, h, w);
      });
    }
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
