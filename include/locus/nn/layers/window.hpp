// SPDX-License-Identifier: Apache-2.0
// Windows that slide along the axes of an example, as convolutions and pools have them. Padding is
// TensorFlow's: what `same` adds in all is halved, the odd element comes behind.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>        // LOCUS_HOST_DEVICE
#include <locus/nn/layers/padding.hpp>  // padding
#include <locus/shape/shape.hpp>        // shape, dyn

namespace locus::nn {

/// means: result o reads inputs o * stride + t * dilation - before, 0 <= t < size; what lies outside
///        of [0, in) is 0 for a convolution and not there for a pool
struct window_axis {
  std::int64_t in = 1, size = 1, stride = 1, dilation = 1, before = 0, out = 1;

  constexpr std::int64_t span() const { return (size - 1) * dilation + 1; }
  LOCUS_HOST_DEVICE constexpr std::int64_t input(std::int64_t o, std::int64_t t) const {
    return o * stride + t * dilation - before;
  }
  LOCUS_HOST_DEVICE constexpr bool is_inside(std::int64_t i) const { return i >= 0 && i < in; }
  /// one input for each result, in order
  LOCUS_HOST_DEVICE constexpr bool is_pointwise() const {
    return size == 1 && stride == 1 && before == 0 && in == out;
  }
  /// means: the result whose t-th element is input i; -1: none
  LOCUS_HOST_DEVICE constexpr std::int64_t result(std::int64_t i, std::int64_t t) const {
    std::int64_t const from = i + before - t * dilation;
    return from < 0 || from % stride != 0 || from / stride >= out ? -1 : from / stride;
  }
};

/// means: the axis of a window of `size` over `in` elements; an input shorter than the window of
///        `valid` has no results
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

/// How a window moves along one axis.
struct window_steps {
  std::int64_t size = 1, stride = 1, dilation = 1;

  LOCUS_HOST_DEVICE constexpr window_axis over(std::int64_t in, padding p) const {
    return slide(in, size, stride, dilation, p);
  }
  friend constexpr bool operator==(window_steps const&, window_steps const&) = default;
};

/// A window over examples of N axes and a last one of channels: of steps, N = 1, or of images, N = 2.
template <int N>
struct window_axes {
  window_steps along[N];
  padding pad = padding::valid;

  /// means: the extents of what the window makes of an example, with so many channels
  /// shape: (n_1, ..., n_N, C) -> (n_1', ..., n_N', channels); an extent that is open stays open
  constexpr shape slid(shape const& example, std::int64_t channels) const {
    shape s{N + 1, {}};
    for (int a = 0; a < N; ++a) {
      std::int64_t const n = example.extent[a];
      s.extent[a] = n == dyn ? dyn : along[a].over(n, pad).out;
    }
    s.extent[N] = channels;
    return s;
  }
  /// means: the window has a place along each axis; along one that is open it may have
  constexpr bool has_room(shape const& example) const {
    shape const s = slid(example, 1);
    for (int a = 0; a < N; ++a)
      if (s.extent[a] == 0) return false;
    return true;
  }
};

/// What a convolution over images does: pixels are channels-last, the kernel is
/// (h.size, w.size, channels / groups, filters).
struct conv2d_geometry {
  std::int64_t images = 0;
  window_axis h, w;
  std::int64_t channels = 1, filters = 1, groups = 1;

  LOCUS_HOST_DEVICE constexpr std::int64_t group_channels() const { return channels / groups; }
  LOCUS_HOST_DEVICE constexpr std::int64_t group_filters() const { return filters / groups; }
  constexpr bool is_depthwise() const { return groups == channels && groups > 1; }
  constexpr bool is_pointwise() const { return h.is_pointwise() && w.is_pointwise(); }
  /// units: elements
  constexpr std::int64_t input_size() const { return images * h.in * w.in * channels; }
  constexpr std::int64_t output_size() const { return images * h.out * w.out * filters; }
  constexpr std::int64_t kernel_size() const {
    return h.size * w.size * group_channels() * filters;
  }
};

}  // namespace locus::nn
