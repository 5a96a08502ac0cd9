// SPDX-License-Identifier: Apache-2.0
// The slabs of a convolution on a GPU: parts of the pixels whose windows fit a workspace.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/error.hpp>                 // shape_error
#include <locus/core/macros.hpp>                // LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>    // card_context
#include <locus/engine/gpu/vectors.hpp>         // with_vectors
#include <locus/nn/kernels/window.hpp>          // conv_geometry
#include <locus/nn/kernels/window_kernels.hpp>  // gather_windows, input_slab
#include <locus/work/matrix.hpp>                // matrix

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t at_least_1(std::int64_t n) { return n < 1 ? 1 : n; }

/// means: the number of rows in a slab, for rows of row_bytes. 8192 rows give every processor of a
///        large card a tile of the product; 32 MiB stay in the card's second cache. A slab has more
///        than 64 MiB only if one row has
constexpr std::int64_t rows_of_slab(std::int64_t row_bytes) {
  constexpr std::int64_t few = std::int64_t(32) << 20, most = std::int64_t(64) << 20;
  std::int64_t const bytes = row_bytes * 8192;
  std::int64_t const rows = (bytes < few ? few : bytes > most ? most : bytes) / row_bytes;
  return at_least_1(rows);
}

/// means: the number of pixels in a slab. Windows of one pixel are x itself: their slabs are as
///        large as a product may be
template <class T>
std::int64_t pixels_of_slab(conv_geometry const& g) {
  std::int64_t const row = g.h.size * g.w.size * g.channels * std::int64_t(sizeof(T));
  return g.is_pointwise() ? std::int64_t(1) << 30 : rows_of_slab(at_least_1(row));
}

/// means: returns g
/// fails: shape_error, if a kernel cannot count lines, numbers of a line or steps of a window in 32
///        bits
inline conv_geometry require_countable(conv_geometry const& g) {
  constexpr std::int64_t most = std::int64_t(1) << 30;
  for (window_axis const* a : {&g.h, &g.w})
    if (a->in > most || a->span() > most || a->stride > most || g.w.in * g.channels > most)
      throw shape_error(
          "locus: a convolution over images of more than 2^30 lines, or over lines of more than "
          "2^30 numbers, is more than a GPU's kernel counts; compute it on a CPU");
  if (g.h.size * g.w.size > most / at_least_1(g.channels))
    throw shape_error(
        "locus: a convolution with windows of more than 2^30 numbers is more than a GPU's kernel "
        "counts; compute it on a CPU");
  return g;
}

/// The matrix of all windows, cut into slabs of pixels.
template <class T>
struct window_slabs {
  conv_geometry of;
  std::int64_t row;   // elements of the windows of a pixel
  std::int64_t rows;  // pixels of a slab

  /// slabs are multiples of `unit` pixels
  explicit window_slabs(conv_geometry const& g, std::int64_t unit = 1)
      : of(require_countable(g)), row(g.h.size * g.w.size * g.channels),
        rows(pixels_of_slab<T>(g)) {
    rows = rows < unit ? unit : rows / unit * unit;
    if (rows > pixels()) rows = pixels();
  }
  std::int64_t pixels() const { return of.images * of.h.out * of.w.out; }
  /// units: elements of workspace
  std::int64_t memory() const { return of.is_pointwise() ? 0 : rows * row; }
  /// units: elements from one group's matrix to the next
  std::int64_t group_step() const { return row / of.groups; }
  /// means: f(first pixel, pixels) for each slab
  template <class F>
  void each(F const& f) const {
    for (std::int64_t first = 0; first < pixels(); first += rows)
      f(first, rows < pixels() - first ? rows : pixels() - first);
  }
  /// means: the first group's matrix of n pixels: in x itself for windows of one pixel, else made
  ///        in `memory`
  kernel::matrix windows(card_context& here, T const* x, T* memory, std::int64_t first,
                         std::int64_t n) const {
    T const* const from = of.is_pointwise() ? x + first * of.channels : memory;
    if (!of.is_pointwise() && row > 0)
      cuda_side::with_vectors(
          of.group_channels(),
          [&]<int Size>(std::integral_constant<int, Size>) {
            here.each(n * row / Size, gather_windows<T, Size>(of, first, x, memory));
          },
          x, memory);
    return {const_cast<T*>(from), n, group_step(), row, 1};
  }
};

/// The slabs of dx: whole images, or lines of one image; neighbouring slabs of lines read some
/// lines of dy twice.
template <class T>
struct input_slabs {
  conv_geometry of;
  std::int64_t row, images = 1, lines = 1;

  explicit input_slabs(conv_geometry const& g)
      : of(require_countable(g)), row(g.h.size * g.w.size * g.channels) {
    std::int64_t const rows = pixels_of_slab<T>(g), width = at_least_1(g.w.out),
                       pixels = at_least_1(g.h.out * width);
    // kernels count the numbers of dx in 32 bits
    std::int64_t const most_lines = (std::int64_t(1) << 30) / at_least_1(g.w.in * g.channels);
    if (pixels <= rows && g.h.in <= most_lines) {
      lines = g.h.in,
      images = least(g.images, least(rows / pixels, most_lines / at_least_1(g.h.in)));
      return;
    }
    std::int64_t const span = g.h.span(), wanted = (rows / width - 1) * g.h.stride - span + 2;
    // at least half of the lines of dy are read once
    lines = least(g.h.in, least(most_lines, wanted > span ? wanted : span));
  }
  /// units: rows of dy that a slab needs at most
  std::int64_t rows() const {
    std::int64_t const most = (lines - 1 + of.h.span() - 1) / of.h.stride + 1;
    return images * (most < of.h.out ? most : of.h.out) * of.w.out;
  }
  /// units: elements of workspace
  std::int64_t memory() const { return of.is_pointwise() ? 0 : rows() * row; }
  /// means: f(slab) for each slab
  template <class F>
  void each(F const& f) const {
    for (std::int64_t image = 0; image < of.images; image += images)
      for (std::int64_t line = 0; line < of.h.in; line += lines) {
        input_slab s{image, images < of.images - image ? images : of.images - image,
                     line,  lines < of.h.in - line ? lines : of.h.in - line,
                     0,     0};
        std::int64_t const before = line + of.h.before - of.h.span() + 1;
        s.low = before > 0 ? (before + of.h.stride - 1) / of.h.stride : 0;
        s.high = (line + s.lines - 1 + of.h.before) / of.h.stride + 1;
        if (s.high > of.h.out) s.high = of.h.out;
        if (s.low > s.high) s.low = s.high;
        f(s);
      }
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
