// SPDX-License-Identifier: Apache-2.0
// Operands with gaps: tiles of them pass through buffers that stay in the first cache, where packets
// find their elements side by side. A transposed operand is read along its own rows.
#pragma once
#include <cstdint>  // int64_t

#include <locus/backend/host/plane.hpp>  // plane, loop_kernel

namespace locus::host {
inline namespace LOCUS_MODE {

/// means: (r, j) is at `at + r * row + j * step`     units: bytes
struct grid {
  std::intptr_t at, step, row;
};

/// means: to(r, j) = from(r, j) for r < rows, j < n; elements are as large as a Word
template <class Word>
void copy_words(grid to, grid from, std::int64_t rows, std::int64_t n) {
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
  }
}

/// What is in the way of packets: an operand whose elements neither lie side by side nor are one.
inline bool has_gaps(std::intptr_t step, int bytes) {
  return bytes != 0 && step != 0 && step != bytes;
}

/// means: kernel.run(context, p), where operands may have gaps
[[gnu::noinline]] inline void run_tiles(loop_kernel const& kernel, void const* context,
                                        plane const& p) {
  constexpr std::int64_t room = 1 << 15, across = 16;
  alignas(64) unsigned char buffers[room];
  int const all = kernel.ins + kernel.outs;
  std::int64_t element = 0;  // bytes of one element of every operand with gaps
  bool transposed = false;
  for (int k = 0; k < all; ++k)
    if (has_gaps(p.operands[k].step, kernel.bytes[k])) {
      element += kernel.bytes[k];
      transposed = transposed || p.operands[k].row == kernel.bytes[k];
    }
  std::int64_t const most = room / element / 64 * 64;  // elements of a tile
  std::int64_t height = transposed ? across : p.n >= most ? 1 : most / ((p.n + 63) / 64 * 64);
  if (height > p.rows) height = p.rows;
  if (height < 1) height = 1;
  std::int64_t width = most / height / 64 * 64;
  if (width < 64) width = 64, height = most / 64;
  auto* const t = static_cast<plane_operand*>(
      __builtin_alloca(static_cast<std::size_t>(all) * sizeof(plane_operand)));
  for (std::int64_t r = 0; r < p.rows; r += height)
    for (std::int64_t j = 0; j < p.n; j += width) {
      std::int64_t const h = p.rows - r < height ? p.rows - r : height,
                         w = p.n - j < width ? p.n - j : width;
      auto* buffer = buffers;
      auto const each = [&](auto const& see) {
        buffer = buffers;
        for (int k = 0; k < all; ++k) {
          plane_operand const& o = p.operands[k];
          std::intptr_t const at = o.at + r * o.row + j * o.step;
          if (!has_gaps(o.step, kernel.bytes[k])) {
            t[k] = {at, o.step, o.row};
            continue;
          }
          grid const tile{reinterpret_cast<std::intptr_t>(buffer), kernel.bytes[k],
                          width * kernel.bytes[k]};
          t[k] = {tile.at, tile.step, tile.row};
          see(k, tile, grid{at, o.step, o.row});
          buffer += width * height * kernel.bytes[k];
        }
      };
      each([&](int k, grid const& tile, grid const& lies) {
        if (k < kernel.ins) copy_grid(kernel.bytes[k], tile, lies, h, w);
      });
      kernel.run(context, {t, h, w, p.streams});
      each([&](int k, grid const& tile, grid const& lies) {
        if (k >= kernel.ins) copy_grid(kernel.bytes[k], lies, tile, h, w);
      });
    }
}

}  // namespace LOCUS_MODE
}  // namespace locus::host
