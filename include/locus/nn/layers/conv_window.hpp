// SPDX-License-Identifier: Apache-2.0
// The settings of a convolution, without the extents of its examples; and one number of its result
// or of its gradient, for kernels with one thread for each number. The kernel lies flat as (KH, KW,
// channels / groups, filters).
#pragma once
#include <locus/nn/kernels/window.hpp>      // conv_geometry, place_in
#include <locus/nn/layers/activation.hpp>   // activation
#include <locus/nn/layers/window_axes.hpp>  // window_axes
#include <locus/shape/tile.hpp>             // tile

namespace locus::nn {

/// A convolution along one axis is one over images of a single column: its steps are the lines.
/// Only such convolutions use `pool` and `relu`, which follow them in the same kernel.
struct conv_window {
  window_steps h, w;
  padding pad = padding::valid;
  std::int64_t filters = 1, groups = 1, pool = 1;
  bool relu = false;

  constexpr window_axes<2> axes() const { return {{h, w}, pad}; }
  LOCUS_HOST_DEVICE constexpr conv_geometry over(std::int64_t images, std::int64_t rows,
                                                 std::int64_t columns,
                                                 std::int64_t channels) const {
    return {
        {images, h.over(rows, pad), w.over(columns, pad), channels}, filters, groups, pool, relu};
  }
  /// shape: (images, H, W, channels), or (examples, steps, channels)
  template <class T>
  LOCUS_HOST_DEVICE constexpr conv_geometry over(tile<T> const& x) const {
    return over(x.extent[0], x.extent[1], x.rank == 4 ? x.extent[2] : 1, x.extent[x.rank - 1]);
  }
  constexpr conv_geometry over(shape const& x) const {
    return over(x.extent[0], x.extent[1], x.rank == 4 ? x.extent[2] : 1, x.extent[x.rank - 1]);
  }
};

namespace detail {

/// means: a kernel applies this activation when it stores a result
constexpr bool has_bounds(activation a) {
  return a == activation::linear || a == activation::relu || a == activation::relu6;
}
template <class T>
LOCUS_HOST_DEVICE constexpr T upper_bound_of(activation a) {
  return a == activation::relu6 ? T(6) : T(__builtin_huge_val());
}
template <class T>
LOCUS_HOST_DEVICE constexpr T bounded(activation a, T x) {
  if (a == activation::linear) return x;
  T const high = upper_bound_of<T>(a);
  return x < T(0) ? T(0) : x > high ? high : x;
}

/// means: sum + the products of the window of result p; p.channel: its filter
template <class T>
LOCUS_HOST_DEVICE constexpr T convolved(conv_geometry const& g, T const* x, T const* kernel,
                                        pixel_place const& p, T sum) {
  std::int64_t const each = g.group_channels(), first = p.channel / g.group_filters() * each;
  g.each_input(p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t element) {
    T const* const from = x + g.input(p.image, line, column) * g.channels + first;
    T const* const weight = kernel + element * each * g.filters + p.channel;
    for (std::int64_t c = 0; c < each; ++c) sum += from[c] * weight[c * g.filters];
  });
  return sum;
}
/// means: dx of input p; slope(result, filter): dy of a result
template <class T, class Slope>
LOCUS_HOST_DEVICE constexpr T input_slope(conv_geometry const& g, T const* kernel,
                                          pixel_place const& p, Slope const& slope) {
  std::int64_t const each = g.group_channels(), first = p.channel / each * g.group_filters();
  T sum = T(0);
  g.each_result<false>(p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t element) {
    std::int64_t const result = g.result(p.image, line, column);
    T const* const weight = kernel + (element * each + p.channel % each) * g.filters;
    for (std::int64_t f = first; f < first + g.group_filters(); ++f)
      sum += slope(result, f) * weight[f];
  });
  return sum;
}

}  // namespace detail

}  // namespace locus::nn
