// SPDX-License-Identifier: Apache-2.0
// Convolutions of images on the host: results, and the gradient of the images. There is no matrix
// of windows: a tile of results reads the pixels of a band through the list of its taps. The order
// of sums depends on the shape alone.
#pragma once
#include <locus/nn/kernels/bands.hpp>     // bands, axis_taps
#include <locus/nn/kernels/tap_tile.hpp>  // tap_call, tap_tiles_for
#include <locus/runtime/threads.hpp>      // parallel_for

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace detail {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
using locus::host::least;

/// Columns of results in strips of two registers; the last strip may have one. A strip stores its
/// rows contiguously.
struct strips {
  std::int64_t columns, lanes;
  std::int64_t padded() const { return round_up(columns, lanes); }
  int registers(std::int64_t x) const { return columns - x > lanes ? 2 : 1; }
  std::int64_t width(std::int64_t x) const { return registers(x) * lanes; }
  std::int64_t valid(std::int64_t x) const {
    return columns - x < width(x) ? columns - x : width(x);
  }
};

/// The strides of a kernel's weights for a phase: from one tap, source channel, result column or
/// group to the next.
struct kernel_view {
  std::int64_t tap, source, column, group;  // strides
};

/// means: to[group][strip][tap, source][column of the strip] = kernel
template <class T>
void pack_kernel(T* to, T const* kernel, kernel_view const& v, axis_taps const& h,
                 axis_taps const& w, std::int64_t window_columns, std::int64_t sources,
                 std::int64_t groups, strips const& s) {
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t x = 0; x < s.columns; x += s.width(x))
      for (tap const& a : h.taps)
        for (tap const& b : w.taps) {
          T const* from = kernel + (a.element * window_columns + b.element) * v.tap + g * v.group;
          from += x * v.column;
          std::int64_t const valid = s.valid(x), width = s.width(x);
          for (std::int64_t c = 0; c < sources; ++c, from += v.source, to += width) {
            for (std::int64_t j = 0; j < valid; ++j) to[j] = from[j * v.column];
            for (std::int64_t j = valid; j < width; ++j) to[j] = T(0);
          }
        }
}

/// means: computes one row of results in tiles; a last tile that is not full overlaps the one
///        before it
template <class T>
void tiles_of_row(typename tap_tiles<T>::by_rows const& tiles, tap_call<T> t, std::int64_t count) {
  int r = 0;
  while (tiles.rows[r] > count) ++r;
  std::int64_t const step = tiles.rows[r];
  T const* const a = t.a;
  T* const c = t.c;
  for (std::int64_t i = 0; i < count; i += step) {
    std::int64_t const at = i < count - step ? i : count - step;
    t.a = a + at * t.a_row, t.c = c + at * t.c_row;
    tiles.run[r](t);
  }
}

/// the offsets of a window's contiguous segments, and the numbers of each segment
struct segment_list {
  std::vector<std::int64_t> offset;
  std::int64_t length;
  segment_list(axis_taps const& h, axis_taps const& w, std::int64_t row, std::int64_t column,
               std::int64_t channels)
      : length(channels) {
    bool const joined = column == channels && w.are_neighbours();
    if (joined) length = channels * static_cast<std::int64_t>(w.taps.size());
    for (tap const& a : h.taps)
      for (tap const& b : w.taps) {
        if (joined && &b != w.taps.data()) break;
        offset.push_back((a.source - h.first()) * row + (b.source - w.first()) * column);
      }
  }
};

/// means: the results of one phase: to = clamp(bias + sum of taps of `from` times the kernel)
template <class T>
void sum_taps(pixels<T> const& to, pixels<T const> const& from, axis_taps const& h,
              axis_taps const& w, std::int64_t groups, T const* packed, T const* packed_bias,
              store_rule<T> const& rule) {
  std::int64_t const sources_each = from.channels / groups, columns = to.channels / groups;
  tap_tiles<T> const& set = tap_tiles_for<T>(columns);
  strips const s{columns, set.lanes};
  std::int64_t const rows =
      static_cast<std::int64_t>(h.taps.size() * w.taps.size()) * sources_each;  // of the kernel
  band_cut const cut = cut_bands(to.images, h.results, w.results,
                                 sources_each * std::int64_t(sizeof(T)) * h.step * w.step);
  std::int64_t const tasks = to.images * groups * cut.bands_of_image();
  int const threads = ::locus::host::threads_for_product(to.images * h.results * w.results * rows *
                                                         columns * groups);
  std::int64_t const room = largest_source(cut, h, w) * sources_each;
  parallel_for(tasks, threads, [&](std::int64_t task) {
    std::int64_t const g = task % groups;
    result_band const b = cut.band(task / groups);
    workspace<T> const memory(room);
    band<T> const x = sources<T>(memory.data(), from, b, h, w,
                                 {g * sources_each, sources_each, 1, sources_each}, true);
    segment_list const list(h, w, x.row, x.column, sources_each);
    alignas(64) T few[8 * 32 * 2];  // a tile of a strip that is not full
    for (std::int64_t j = 0; j < columns; j += s.width(j)) {
      auto const& tiles = set.sums[s.registers(j) - 1];
      bool const full = s.valid(j) == s.width(j);
      std::int64_t const to_column = w.to_step * to.channels;
      tap_call<T> t{x.data,
                    packed + (g * s.padded() + j) * rows,
                    nullptr,
                    list.offset.data(),
                    static_cast<std::int64_t>(list.offset.size()),
                    list.length,
                    w.step * x.column,
                    1,
                    s.width(j),
                    full ? to_column : s.width(j),
                    {packed_bias ? packed_bias + g * s.padded() + j : nullptr, rule.clamp, rule.low,
                     rule.high}};
      for (std::int64_t y = 0; y < b.rows; ++y) {
        T* const row =
            to.at(b.image, h.to_first + (b.y + y) * h.to_step, w.to_first + b.x * w.to_step) +
            g * columns + j;
        T const* const a = x.data + y * h.step * x.row;
        if (full) {
          t.a = a, t.c = row;
          tiles_of_row<T>(tiles, t, b.columns);
          continue;
        }
        for (std::int64_t i = 0; i < b.columns; i += 8) {
          std::int64_t const here = b.columns - i < 8 ? b.columns - i : 8;
          t.a = a + i * t.a_row, t.c = few;
          tiles_of_row<T>(tiles, t, here);
          for (std::int64_t p = 0; p < here; ++p)
            for (std::int64_t q = 0; q < s.valid(j); ++q)
              row[(i + p) * to_column + q] = few[p * s.width(j) + q];
        }
      }
    }
  });
}

/// means: for windows of one pixel, an image, or with join_images the batch, becomes one row of
///        pixels
inline conv_geometry as_rows(conv_geometry g, bool join_images) {
  if (!g.is_pointwise()) return g;
  std::int64_t const n = g.h.in * g.w.in * (join_images ? g.images : 1);
  if (join_images) g.images = 1;
  g.h = window_axis{}, g.w = window_axis{n, 1, 1, 1, 0, n};
  return g;
}

template <class T>
std::vector<T> pack_bias(T const* bias, std::int64_t groups, strips const& s) {
  std::vector<T> r;
  if (!bias) return r;
  r.resize(static_cast<std::size_t>(groups * s.padded()));
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t j = 0; j < s.columns; ++j)
      r[static_cast<std::size_t>(g * s.padded() + j)] = bias[g * s.columns + j];
  return r;
}

}  // namespace detail

/// means: y[n,oh,ow,f] = clamp(bias[f] + sum over kh, kw, c of x[n,ih,iw,c] * kernel[kh,kw,c,f])
/// cost:  a multiply-add for each product; the workspace is the kernel and a band for each thread
/// fails: out_of_memory
template <class T>
void conv2d(T* y, T const* x, T const* kernel, conv_geometry g, store_rule<T> const& rule = {}) {
  if (g.output_size() == 0) return;
  g = detail::as_rows(g, true);
  axis_taps const h = forward_taps(g.h), w = forward_taps(g.w);
  std::int64_t const sources = g.group_channels(), columns = g.group_filters();
  detail::strips const s{columns, tap_tiles_for<T>(columns).lanes};
  workspace<T> const packed(g.h.size * g.w.size * sources * s.padded() * g.groups);
  detail::pack_kernel<T>(packed.data(), kernel, {sources * g.filters, g.filters, 1, columns}, h, w,
                         g.w.size, sources, g.groups, s);
  std::vector<T> const bias = detail::pack_bias(rule.bias, g.groups, s);
  detail::sum_taps<T>({y, g.images, g.h.out, g.w.out, g.filters},
                      {x, g.images, g.h.in, g.w.in, g.channels}, h, w, g.groups, packed.data(),
                      rule.bias ? bias.data() : nullptr, rule);
}

/// means: dx[n,ih,iw,c] = sum over kh, kw, f of dy[n,oh,ow,f] * kernel[kh,kw,c,f]: a convolution of dy
///        for each phase of the strides
template <class T>
void conv2d_input_gradient(T* dx, T const* dy, T const* kernel, conv_geometry g) {
  if (g.input_size() == 0) return;
  g = detail::as_rows(g, true);
  std::int64_t const sources = g.group_filters(), columns = g.group_channels();
  detail::strips const s{columns, tap_tiles_for<T>(columns).lanes};
  workspace<T> const packed(g.h.size * g.w.size * sources * s.padded() * g.groups);
  for (std::int64_t a = 0; a < g.h.stride; ++a)
    for (std::int64_t b = 0; b < g.w.stride; ++b) {
      axis_taps const h = backward_taps(g.h, a), w = backward_taps(g.w, b);
      if (h.results == 0 || w.results == 0) continue;
      detail::pack_kernel<T>(packed.data(), kernel, {columns * g.filters, 1, g.filters, sources}, h,
                             w, g.w.size, sources, g.groups, s);
      detail::sum_taps<T>({dx, g.images, g.h.in, g.w.in, g.channels},
                          {dy, g.images, g.h.out, g.w.out, g.filters}, h, w, g.groups,
                          packed.data(), nullptr, {});
    }
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
