// SPDX-License-Identifier: Apache-2.0
// The sources of windows: the taps of a phase of results, and bands of an image with zeros around
// it. Bands depend on the shape alone; one band is copied at a time, never a whole image.
#pragma once
#include <vector>  // vector

#include <locus/core/error.hpp>            // out_of_memory
#include <locus/engine/host/gemm.hpp>      // scratch
#include <locus/nn/kernels/window.hpp>     // window_axis
#include <locus/nn/kernels/workspace.hpp>  // workspace

namespace locus::nn::host {
inline namespace LOCUS_MODE {

/// One element of a window: its source, and its number.
struct tap {
  std::int64_t source, element;
};
/// means: results y = 0 .. results - 1, which lie at to_first + y * to_step, read the sources
///        y * step + tap.source; taps in rising order of their sources
struct axis_taps {
  std::int64_t results, step, to_first, to_step;
  std::vector<tap> taps;

  std::int64_t first() const { return taps.empty() ? 0 : taps.front().source; }
  std::int64_t last() const { return taps.empty() ? 0 : taps.back().source; }
  bool are_neighbours() const {
    return last() - first() + 1 == static_cast<std::int64_t>(taps.size());
  }
};

/// means: the taps of results, which read the inputs of their windows
inline axis_taps forward_taps(window_axis const& a) {
  axis_taps r{a.out, a.stride, 0, 1, {}};
  for (std::int64_t t = 0; t < a.size; ++t) r.taps.push_back({t * a.dilation - a.before, t});
  return r;
}
/// means: the taps of inputs phase, phase + stride, ..., which read the results whose windows
///        contain them
inline axis_taps backward_taps(window_axis const& a, std::int64_t phase) {
  axis_taps r{phase < a.in ? (a.in - phase + a.stride - 1) / a.stride : 0, 1, phase, a.stride, {}};
  for (std::int64_t t = a.size; t-- > 0;) {
    std::int64_t const from = phase + a.before - t * a.dilation;
    if (from % a.stride == 0) r.taps.push_back({from / a.stride, t});
  }
  return r;
}

/// means: images with contiguous pixels, channels last
template <class T>
struct pixels {
  T* data;
  std::int64_t images, rows, columns, channels;
  T* at(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return data + ((image * rows + y) * columns + x) * channels;
  }
};

/// A rectangle of results of a phase.
struct result_band {
  std::int64_t image, y, rows, x, columns;
};
/// The bands of all results.
struct band_cut {
  std::int64_t images, rows, columns;  // results
  std::int64_t band_rows, band_columns;

  std::int64_t down() const { return (rows + band_rows - 1) / band_rows; }
  std::int64_t across() const { return (columns + band_columns - 1) / band_columns; }
  std::int64_t bands_of_image() const { return rows * columns == 0 ? 0 : down() * across(); }
  result_band band(std::int64_t number) const {
    std::int64_t const image = number / bands_of_image(), n = number % bands_of_image();
    std::int64_t const y = n / across() * band_rows, x = n % across() * band_columns;
    return {image, y, least(band_rows, rows - y), x, least(band_columns, columns - x)};
  }
  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};
/// means: bands whose sources fill at most 128 KiB: half of a second cache
inline band_cut cut_bands(std::int64_t images, std::int64_t rows, std::int64_t columns,
                          std::int64_t bytes_of_pixel) {
  std::int64_t most = (std::int64_t(1) << 17) / (bytes_of_pixel > 0 ? bytes_of_pixel : 1) / 8 * 8;
  most = most < 16 ? 16 : most > 256 ? 256 : most;
  std::int64_t const wide = columns < most ? (columns > 0 ? columns : 1) : most;
  return {images, rows, columns, most / wide, wide};
}

/// The channels of a source that a copied band has.
struct band_channels {
  std::int64_t first, count;  // of the source
  std::int64_t repeat = 1;    // copies of each channel
  std::int64_t padded = 0;    // channels with the zeros behind them
};

/// means: data: the source of tap (0, 0) for the first result of a band     units: elements
template <class T>
struct band {
  T const* data;
  std::int64_t row, column;  // strides of the source
};

namespace detail {

template <class T>
void copy_pixels(T* to, T const* from, std::int64_t pixels, std::int64_t stride,
                 band_channels const& c) {
  if (c.repeat == 1 && c.padded == c.count && c.count == stride) {
    __builtin_memcpy(static_cast<void*>(to), from, sizeof(T) * std::size_t(pixels * c.count));
    return;
  }
  for (std::int64_t p = 0; p < pixels; ++p, to += c.padded, from += stride) {
    if (c.repeat == 1)
      __builtin_memcpy(static_cast<void*>(to), from, sizeof(T) * std::size_t(c.count));
    else
      for (std::int64_t j = 0; j < c.count * c.repeat; ++j) to[j] = from[j / c.repeat];
    for (std::int64_t j = c.count * c.repeat; j < c.padded; ++j) to[j] = T(0);
  }
}

}  // namespace detail

/// means: to = rows [y, y + rows) and columns [x, x + columns) of an image, 0 outside of the image
template <class T>
void copy_band(T* to, pixels<T const> const& from, result_band const& b, band_channels const& c) {
  auto clear = [&](T* p, std::int64_t count) {
    if (count > 0)
      __builtin_memset(static_cast<void*>(p), 0, sizeof(T) * std::size_t(count * c.padded));
  };
  std::int64_t const left = b.x < 0 ? (-b.x < b.columns ? -b.x : b.columns) : 0;
  std::int64_t end = from.columns - b.x;
  end = end < left ? left : end > b.columns ? b.columns : end;
  for (std::int64_t y = b.y; y < b.y + b.rows; ++y, to += b.columns * c.padded) {
    if (y < 0 || y >= from.rows) {
      clear(to, b.columns);
      continue;
    }
    clear(to, left);
    if (end > left)
      detail::copy_pixels<T>(to + left * c.padded, from.at(b.image, y, b.x + left) + c.first,
                             end - left, from.channels, c);
    clear(to + end * c.padded, b.columns - end);
  }
}

/// means: the sources of a band of results
inline result_band sources_of(result_band const& b, axis_taps const& h, axis_taps const& w) {
  return {b.image, b.y * h.step + h.first(), (b.rows - 1) * h.step + h.last() - h.first() + 1,
          b.x * w.step + w.first(), (b.columns - 1) * w.step + w.last() - w.first() + 1};
}
/// units: pixels of the sources of the largest band
inline std::int64_t largest_source(band_cut const& cut, axis_taps const& h, axis_taps const& w) {
  result_band const s = sources_of({0, 0, cut.band_rows, 0, cut.band_columns}, h, w);
  return s.rows * s.columns;
}

/// means: the sources of a band: the image itself, if `as_is` and all sources lie inside of it;
///        else a copy in `room`
template <class T>
band<T> sources(T* room, pixels<T const> const& from, result_band const& b, axis_taps const& h,
                axis_taps const& w, band_channels const& c, bool as_is) {
  result_band const s = sources_of(b, h, w);
  if (as_is && s.y >= 0 && s.x >= 0 && s.y + s.rows <= from.rows && s.x + s.columns <= from.columns)
    return {from.at(s.image, s.y, s.x) + c.first, from.columns * from.channels, from.channels};
  copy_band<T>(room, from, s, c);
  return {room, s.columns * c.padded, c.padded};
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
