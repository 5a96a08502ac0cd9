// SPDX-License-Identifier: Apache-2.0
// Convolution along one axis on the host, with bias, relu and the pool behind it, in one pass over
// an example. There is no matrix of windows: the rows of a product are windows of the example
// itself, a stride apart. Rows of the convolution become rows of the pool while they lie in the
// first cache. The order of sums depends on sizes alone.
#pragma once
#include <locus/engine/host/gemm.hpp>       // scratch, tiles, threads_for_product
#include <locus/nn/kernels/pool_lines.hpp>  // pool_call, unpool_call
#include <locus/nn/kernels/window.hpp>      // conv_geometry
#include <locus/nn/kernels/workspace.hpp>   // workspace

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace one_axis {

using locus::host::blocks_of;
using locus::host::least;
using locus::host::tile_call;
using locus::host::tile_set;
using locus::host::tile_sets;

constexpr std::int64_t rounded(std::int64_t n, std::int64_t to) { return blocks_of(n, to) * to; }

/// means: a window is contiguous in an example
constexpr bool is_contiguous(conv_geometry const& s) { return s.h.dilation == 1 && s.groups == 1; }

/// units: numbers behind the windows that are read without use
inline constexpr std::int64_t window_slack = 16;

/// Blocking parameters of one convolution, from its sizes and this processor.
template <class T>
struct conv1d_cut {
  conv_geometry s;
  tile_set<T> const* set;
  std::int64_t width;       // filters of a group, rounded up to registers
  std::int64_t line;        // width * groups: a row of results in the cache
  std::int64_t products;    // for one row and group: 1, or one for each tap
  std::int64_t inner;       // numbers of a row that one product reads
  std::int64_t inner_rows;  // rows of a gradient of weights: a multiple of 4

  explicit conv1d_cut(conv_geometry const& sizes) : s(sizes) {
    tile_sets<T> const& sets = locus::host::tiles<T>();
    set = s.group_filters() > sets.narrow.lanes ? &sets.wide : &sets.narrow;
    width = rounded(s.group_filters(), set->lanes), line = width * s.groups;
    products = is_contiguous(s) ? 1 : s.h.size;
    inner = is_contiguous(s) ? s.h.size * s.channels : s.group_channels();
    inner_rows = rounded(inner, 4);
  }
  pool_lines<T> lines() const {
    return locus::host::isa_tables<pool_lines<T>>().of(set->lanes * int(sizeof(T)));
  }
  /// the rows of results, a multiple of the pool, that fit the first cache together with their
  /// windows
  std::int64_t chunk() const {
    std::int64_t const each = (s.h.stride * s.channels + line) * std::int64_t(sizeof(T));
    std::int64_t const rows = least(24576 / each / 16 * 16, 256);
    return rounded(rows < 16 ? 16 : rows, 4 * s.pool);
  }
  std::int64_t window_numbers(std::int64_t rows) const {
    return ((rows - 1) * s.h.stride + s.h.span()) * s.channels + window_slack;
  }
};

/// means: the windows of rows [row, row + rows) of an example: in the example itself, or with zeros
///        around them in `copy`; a register behind them may be read
template <class T>
T const* windows_of(conv_geometry const& s, T const* x, T const* end, std::int64_t row,
                    std::int64_t rows, T* copy) {
  std::int64_t const first = row * s.h.stride - s.h.before,
                     n = (rows - 1) * s.h.stride + s.h.span();
  T const* const from = x + first * s.channels;
  if (first >= 0 && first + n <= s.h.in && end - from >= n * s.channels + window_slack) return from;
  std::int64_t const front = first < 0 ? least(-first, n) : 0;
  std::int64_t const last = least(first + n, s.h.in) - first;
  auto const bytes = [&](std::int64_t steps) {
    return sizeof(T) * std::size_t(steps * s.channels);
  };
  __builtin_memset(static_cast<void*>(copy), 0, bytes(n) + window_slack * sizeof(T));
  if (last > front)
    __builtin_memcpy(static_cast<void*>(copy + front * s.channels), from + front * s.channels,
                     bytes(last - front));
  return copy;
}

/// means: c = rows of the product of windows and packed weights
template <class T>
void convolve(conv1d_cut<T> const& cut, T const* windows, T const* weights, std::int64_t rows,
              T* c) {
  conv_geometry const& s = cut.s;
  std::int64_t const lanes = cut.set->lanes;
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t j = 0; j < cut.width;) {
      int const registers = cut.width - j > lanes ? 2 : 1;
      auto const& tiles = cut.set->open[registers - 1];
      int r = 0;
      while (tiles.rows[r] > rows) ++r;
      for (std::int64_t i = 0; i < rows; i += tiles.rows[r]) {
        std::int64_t const at = least(i, rows - tiles.rows[r]);
        tile_call<T> t{windows + at * s.h.stride * s.channels + g * s.group_channels(),
                       weights + g * cut.products * cut.inner * cut.width + j,
                       c + at * cut.line + g * cut.width + j,
                       cut.inner,
                       s.h.stride * s.channels,
                       1,
                       cut.width,
                       cut.line,
                       false};
        for (std::int64_t p = 0; p < cut.products; ++p) {
          tiles.run[r](t);
          t.a += s.h.dilation * s.channels, t.b += cut.inner * cut.width, t.accumulate = true;
        }
      }
      j += registers * lanes;
    }
}

/// means: to = the kernel's rows for each group, each padded to whole registers
template <class T>
void pack_weights(conv1d_cut<T> const& cut, T const* w, T* to) {
  conv_geometry const& s = cut.s;
  std::int64_t const rows = s.h.size * s.group_channels(), n = s.group_filters();
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t i = 0; i < rows; ++i, to += cut.width) {
      __builtin_memcpy(static_cast<void*>(to), w + i * s.filters + g * n,
                       sizeof(T) * std::size_t(n));
      for (std::int64_t j = n; j < cut.width; ++j) to[j] = T(0);
    }
}
/// means: to = the bias of each group, padded to whole registers; zeros without a bias
template <class T>
void pack_bias(conv1d_cut<T> const& cut, T const* bias, T* to) {
  std::int64_t const n = cut.s.group_filters();
  for (std::int64_t g = 0; g < cut.s.groups; ++g)
    for (std::int64_t j = 0; j < cut.width; ++j) *to++ = bias && j < n ? bias[g * n + j] : T(0);
}

}  // namespace one_axis

/// means: y[b][i][f] = the largest of bias[f] + sum of x w over the rows of a pool, at least 0 with
///        relu; winners[b][i][f] = 1 + its row in the pool, 0 where relu gives 0
/// shape: x (batch, steps, channels), w (taps, channels / groups, filters), y and winners
///        (batch, s.rows(), filters); bias and winners may be null;
///        the steps are lines of images of one column in `s`
/// cost:  a multiply-add for each product
template <class T>
void conv1d(conv_geometry const& s, T const* x, T const* w, T const* bias, T* y,
            unsigned char* winners) {
  std::int64_t const rows = s.rows(), batch = s.images;
  if (batch == 0 || rows == 0 || s.filters == 0) return;
  one_axis::conv1d_cut<T> const cut(s);
  bool const packs = cut.line != s.filters || s.groups > 1;
  std::int64_t const weights = packs ? s.h.size * s.group_channels() * cut.line : 0;
  workspace<T> const packed(weights + cut.line);
  T* const packed_bias = packed.data();
  T const* const rows_of_w = packs ? packed_bias + cut.line : w;
  one_axis::pack_bias(cut, bias, packed_bias);
  if (packs) one_axis::pack_weights(cut, w, packed_bias + cut.line);
  auto const pool = cut.lines().pool;
  std::int64_t const pools = cut.chunk() / s.pool;
  int const threads = locus::host::threads_for_product(batch * s.used() * s.kernel_size());
  // a task has examples, or a part of one if there are few examples
  std::int64_t const parts = batch >= 2 * threads ? 1 : one_axis::blocks_of(rows, pools);
  std::int64_t const tasks = parts == 1 ? one_axis::least(batch, 8 * threads) : batch * parts;
  T const* const end = x + batch * s.h.in * s.channels;
  parallel_for(static_cast<int>(tasks), threads, [&](int task) {
    workspace<T> const memory(cut.chunk() * cut.line + cut.window_numbers(cut.chunk()));
    T* const c = memory.data();
    T* const copy = c + cut.chunk() * cut.line;
    auto const some = [&](std::int64_t b, std::int64_t i) {
      std::int64_t const n = one_axis::least(pools, rows - i);
      T const* const from =
          one_axis::windows_of(s, x + b * s.h.in * s.channels, end, i * s.pool, n * s.pool, copy);
      one_axis::convolve(cut, from, rows_of_w, n * s.pool, c);
      for (std::int64_t g = 0; g < s.groups; ++g) {
        std::int64_t const at = (b * rows + i) * s.filters + g * s.group_filters();
        pool({c + g * cut.width, cut.line, packed_bias + g * cut.width, y + at,
              winners ? winners + at : nullptr, s.filters, n, s.group_filters(), s.pool, s.relu});
      }
    };
    if (parts > 1) return some(task / parts, task % parts * pools);
    for (std::int64_t b = batch * task / tasks; b < batch * (task + 1) / tasks; ++b)
      for (std::int64_t i = 0; i < rows; i += pools) some(b, i);
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
