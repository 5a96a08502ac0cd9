// SPDX-License-Identifier: Apache-2.0
// Windows of convolutions and pools, which slide along the axes of an example. Padding is
// TensorFlow's: `same` adds half of its elements on each side, and an odd one behind.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>  // LOCUS_HOST_DEVICE

namespace locus::nn {

/// The elements that a window reads outside of an example. valid: none, the window stays inside;
/// same: zeros on both sides, an odd zero behind, ceil(in / stride) results; causal: zeros in front
/// alone
enum class padding : unsigned char { valid, same, causal };

/// means: result o reads inputs o * stride + t * dilation - before, 0 <= t < size; an input outside
///        of [0, in) is 0 for a convolution, and ignored by a pool
struct window_axis {
  std::int64_t in = 1, size = 1, stride = 1, dilation = 1, before = 0, out = 1;

  LOCUS_HOST_DEVICE constexpr std::int64_t span() const { return (size - 1) * dilation + 1; }
  LOCUS_HOST_DEVICE constexpr std::int64_t input(std::int64_t o, std::int64_t t) const {
    return o * stride + t * dilation - before;
  }
  LOCUS_HOST_DEVICE constexpr bool is_inside(std::int64_t i) const { return i >= 0 && i < in; }
  /// means: elements of the window of result o that lie in [0, in)
  LOCUS_HOST_DEVICE constexpr std::int64_t count_inside(std::int64_t o) const {
    std::int64_t count = 0;
    for (std::int64_t t = 0; t < size; ++t) count += is_inside(input(o, t));
    return count;
  }
  /// means: result o reads input o alone
  LOCUS_HOST_DEVICE constexpr bool is_pointwise() const {
    return size == 1 && stride == 1 && before == 0 && in == out;
  }
  /// means: the result whose t-th element is input i; -1: none
  LOCUS_HOST_DEVICE constexpr std::int64_t result(std::int64_t i, std::int64_t t) const {
    std::int64_t const from = i + before - t * dilation;
    if (stride == 1) return from < 0 || from >= out ? -1 : from;
    return from < 0 || from % stride != 0 || from / stride >= out ? -1 : from / stride;
  }
};

/// means: the axis of a window of `size` over `in` elements; with `valid`, an input that is shorter
///        than the window has no results
LOCUS_HOST_DEVICE constexpr window_axis slide(std::int64_t in, std::int64_t size,
                                              std::int64_t stride, std::int64_t dilation,
                                              padding p) {
  std::int64_t const span = (size - 1) * dilation + 1;
  window_axis w{in, size, stride, dilation, p == padding::causal ? span - 1 : 0, 0};
  if (p == padding::same) {
    w.out = (in + stride - 1) / stride;
    std::int64_t const missing = (w.out - 1) * stride + span - in;
    w.before = missing > 0 ? missing / 2 : 0;
  } else
    w.out = in + w.before < span ? 0 : (in + w.before - span) / stride + 1;
  return w;
}

/// The size and the steps of a window along one axis.
struct window_steps {
  std::int64_t size = 1, stride = 1, dilation = 1;

  LOCUS_HOST_DEVICE constexpr window_axis over(std::int64_t in, padding p) const {
    return slide(in, size, stride, dilation, p);
  }
  friend constexpr bool operator==(window_steps const&, window_steps const&) = default;
};

/// The indices of an element of an array of pixels.
struct pixel_place {
  std::int64_t image, y, x, channel;
};
LOCUS_HOST_DEVICE constexpr pixel_place place_in(std::int64_t i, std::int64_t rows,
                                                 std::int64_t columns, std::int64_t channels) {
  return {i / channels / columns / rows, i / channels / columns % rows, i / channels % columns,
          i % channels};
}

/// A window over images, channels last. Examples of one axis are images of one column, or of one line.
struct window_geometry {
  std::int64_t images = 0;
  window_axis h, w;
  std::int64_t channels = 1;

  /// units: elements
  LOCUS_HOST_DEVICE constexpr std::int64_t input_size() const {
    return images * h.in * w.in * channels;
  }
  /// units: pixels
  LOCUS_HOST_DEVICE constexpr std::int64_t results() const { return images * h.out * w.out; }
  LOCUS_HOST_DEVICE constexpr std::int64_t input(std::int64_t image, std::int64_t y,
                                                 std::int64_t x) const {
    return (image * h.in + y) * w.in + x;
  }
  LOCUS_HOST_DEVICE constexpr std::int64_t result(std::int64_t image, std::int64_t y,
                                                  std::int64_t x) const {
    return (image * h.out + y) * w.out + x;
  }
  /// means: visit(line, column, element of the window) for each input in the window of result (y, x)
  template <class Visit>
  LOCUS_HOST_DEVICE constexpr void each_input(std::int64_t y, std::int64_t x,
                                              Visit const& visit) const {
    for (std::int64_t a = 0; a < h.size; ++a) {
      std::int64_t const line = h.input(y, a);
      if (!h.is_inside(line)) continue;
      for (std::int64_t b = 0; b < w.size; ++b) {
        std::int64_t const column = w.input(x, b);
        if (w.is_inside(column)) visit(line, column, a * w.size + b);
      }
    }
  }
  /// means: visit(line, column, element of the window) for each result whose window has input (y,
  ///        x); RisingResults: in the order of the results, else in the order of the window's
  ///        elements
  template <bool RisingResults, class Visit>
  LOCUS_HOST_DEVICE constexpr void each_result(std::int64_t y, std::int64_t x,
                                               Visit const& visit) const {
    for (std::int64_t i = 0; i < h.size; ++i) {
      std::int64_t const a = RisingResults ? h.size - 1 - i : i, line = h.result(y, a);
      if (line < 0) continue;
      for (std::int64_t j = 0; j < w.size; ++j) {
        std::int64_t const b = RisingResults ? w.size - 1 - j : j, column = w.result(x, b);
        if (column >= 0) visit(line, column, a * w.size + b);
      }
    }
  }
};

struct pool_geometry : window_geometry {
  constexpr std::int64_t output_size() const { return results() * channels; }
};

/// The sizes of a convolution; its kernel is (h.size, w.size, channels / groups, filters). The
/// steps of a convolution along one axis are lines of one column; a pool may keep the largest of
/// `pool` neighbouring results.
struct conv_geometry : window_geometry {
  std::int64_t filters = 1, groups = 1, pool = 1;
  bool relu = false;  // in front of the pool

  LOCUS_HOST_DEVICE constexpr std::int64_t group_channels() const { return channels / groups; }
  LOCUS_HOST_DEVICE constexpr std::int64_t group_filters() const { return filters / groups; }
  constexpr bool is_depthwise() const { return groups == channels && groups > 1; }
  constexpr bool is_pointwise() const { return h.is_pointwise() && w.is_pointwise(); }
  /// units: elements
  constexpr std::int64_t output_size() const { return results() * filters; }
  LOCUS_HOST_DEVICE constexpr std::int64_t kernel_size() const {
    return h.size * w.size * group_channels() * filters;
  }

  /// means: the number of lines behind the pool, and of lines that the pool reads
  LOCUS_HOST_DEVICE constexpr std::int64_t rows() const { return h.out / pool; }
  LOCUS_HOST_DEVICE constexpr std::int64_t used() const { return rows() * pool; }
  /// means: the same convolution without the lines that the pool does not read
  LOCUS_HOST_DEVICE constexpr conv_geometry without_unread() const {
    conv_geometry g = *this;
    g.h.out = used();
    return g;
  }
};

}  // namespace locus::nn
