// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that engine/host/tiles.hpp declares.
#pragma once
#include <locus/core/macros.hpp>        // LOCUS_FUNCTION
#include <locus/engine/host/tiles.hpp>  // the declarations

namespace locus::host {
inline namespace LOCUS_RUN_MODE {

/// the size of complex<double>
struct two_words {
  std::uint64_t words[2];
};
LOCUS_FUNCTION void copy_grid(int bytes, grid const& to, grid const& from, std::int64_t rows,
                              std::int64_t n) {
  switch (bytes) {
  case 1: return copy_words<std::uint8_t>(to, from, rows, n);
  case 2: return copy_words<std::uint16_t>(to, from, rows, n);
  case 4: return copy_words<std::uint32_t>(to, from, rows, n);
  case 8: return copy_words<std::uint64_t>(to, from, rows, n);
  default: return copy_words<two_words>(to, from, rows, n);  // elements of packets have 16 at most
  }
}

LOCUS_FUNCTION void run_through_tiles(loop_kernel const& kernel, void const* context,
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
  std::int64_t element = 0;  // bytes of one element, summed over the copied operands
  bool transposed = false;
  for (int k = 0; k < all; ++k)
    if (is_copied(k)) {
      element += kernel.bytes[k];
      transposed = transposed || p.operands[k].row == kernel.bytes[k];
    }
  if (element == 0) return kernel.run(context, p);
  std::int64_t const fit = room / element;
  std::int64_t const most = fit < 64 ? fit : fit / 64 * 64;  // elements of a tile
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

}  // namespace LOCUS_RUN_MODE
}  // namespace locus::host
