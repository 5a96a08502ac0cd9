// SPDX-License-Identifier: Apache-2.0
// Convolutions of images as steps of a plan: the result, and the gradients of the image and of the
// kernel, which lies flat as (KH, KW, channels / groups, filters).
#pragma once
#include <locus/nn/kernels/depthwise.hpp>   // conv2d, depthwise2d
#include <locus/nn/layers/conv_window.hpp>  // conv_window, convolved, input_slope, bounded
#include <locus/ops/call.hpp>               // call_rule, tile
#if LOCUS_CUDA_KERNELS
#include <locus/engine/gpu/vectors.hpp>      // are_vectors
#include <locus/nn/kernels/conv2d_team.hpp>  // kernel_gradient_team
#include <locus/nn/kernels/conv_card.hpp>    // cards::conv2d
#endif

namespace locus::nn {

namespace detail {

constexpr shape open_shape(int rank) {
  shape s{rank, {}};
  for (int a = 0; a < rank; ++a) s.extent[a] = dyn;
  return s;
}
/// means: an extent is open, as in a constant plan of dynamic tensors
constexpr bool is_open(shape const& s) { return !s.is_static(); }

}  // namespace detail

/// means: y = bounded(x * kernel + bias); bias is not read unless `biased`
/// shape: (rows, H, W, channels), flat kernel, (filters) -> (rows, H', W', filters)
struct conv2d_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv2d",
                                  .operands = {rows, whole, whole},
                                  .results = {rows},
                                  .tensorflow = "Conv2D"};
  conv_window window;
  bool biased = true;
  activation how = activation::linear;  // linear, relu, relu6

  constexpr shape infer(int, shape x, shape w, shape b) const {
    if (x.rank != 4 || w.rank != 1 || b.rank != 1) return no_shape;
    if (detail::is_open(x) || detail::is_open(w)) return detail::open_shape(4);
    if (x.extent[3] % window.groups != 0 || window.filters % window.groups != 0) return no_shape;
    conv_geometry const g = window.over(x);
    if (w.extent[0] != g.kernel_size() || (biased && b.extent[0] != g.filters)) return no_shape;
    return {4, {g.images, g.h.out, g.w.out, g.filters}};
  }
  static constexpr std::int64_t operations(shape y, shape, shape w, shape) {
    return y.extent[3] == 0 ? 0 : 2 * (y.size() / y.extent[3]) * w.size();
  }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x, tile<T const> w,
            tile<T const> b) const {
    conv_geometry const g = window.over(x);
    if (g.is_depthwise())
      host::depthwise2d<T>(y.data, x.data, w.data, g, store(b));
    else
      host::conv2d<T>(y.data, x.data, w.data, g, store(b));
  }
  /// false for a depthwise convolution: as a product it would multiply mostly zeros
  template <class T>
  bool is_for_cards(tile<T const> x, tile<T const>, tile<T const>) const {
    return !window.over(x).is_depthwise();
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x, tile<T const> w, tile<T const> b) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> w, tile<T const> b) const {
    conv_geometry const g = window.over(x);
    pixel_place const p = place_in(i, g.h.out, g.w.out, g.filters);
    T const sum = detail::convolved(g, x.data, w.data, p, biased ? b[p.channel] : T(0));
    return detail::bounded(how, sum);
  }

 private:
  template <class T>
  host::store_rule<T> store(tile<T const> const& b) const {
    return {biased ? b.data : nullptr, how != activation::linear, T(0),
            detail::upper_bound_of<T>(how)};
  }
};

/// means: dx of y = x * kernel, from dy
/// shape: dy, flat kernel -> (rows, in...), in: the extents of one image
struct conv2d_input_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv2d_input_gradient",
                                  .operands = {rows, whole},
                                  .results = {rows},
                                  .tensorflow = "Conv2DBackpropInput"};
  conv_window window;
  shape in{3, {1, 1, 1}};

  template <class T>
  LOCUS_HOST_DEVICE constexpr conv_geometry geometry(tile<T> const& dy) const {
    return window.over(dy.extent[0], in.extent[0], in.extent[1], in.extent[2]);
  }
  constexpr shape infer(int, shape dy, shape w) const {
    if (dy.rank != 4 || w.rank != 1) return no_shape;
    if (detail::is_open(dy) || detail::is_open(w)) return detail::open_shape(4);
    conv_geometry const g = window.over(dy.extent[0], in.extent[0], in.extent[1], in.extent[2]);
    if (w.extent[0] != g.kernel_size() ||
        !(dy == shape{4, {g.images, g.h.out, g.w.out, g.filters}}))
      return no_shape;
    return {4, {g.images, g.h.in, g.w.in, g.channels}};
  }
  static constexpr std::int64_t operations(shape, shape dy, shape w) {
    return dy.extent[3] == 0 ? 0 : 2 * (dy.size() / dy.extent[3]) * w.size();
  }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T const> dy, tile<T const> w) const {
    conv_geometry const g = geometry(dy);
    if (g.is_depthwise())
      host::depthwise2d_input_gradient<T>(dx.data, dy.data, w.data, g);
    else
      host::conv2d_input_gradient<T>(dx.data, dy.data, w.data, g);
  }
  template <class T>
  bool is_for_cards(tile<T const> dy, tile<T const>) const {
    return !geometry(dy).is_depthwise();
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> dy, tile<T const> w) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> dy,
                              tile<T const> w) const {
    conv_geometry const g = geometry(dy);
    return detail::input_slope(
        g, w.data, place_in(i, g.h.in, g.w.in, g.channels),
        [&](std::int64_t result, std::int64_t f) { return dy[result * g.filters + f]; });
  }
};

/// means: the gradient of the kernel of y = x * kernel, from x and dy: a term of each replica
struct conv2d_kernel_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv2d_kernel_gradient",
                                  .operands = {rows, rows},
                                  .results = {terms},
                                  .tensorflow = "Conv2DBackpropFilter",
                                  .by_teams = true};
  conv_window window;

  constexpr shape infer(int, shape x, shape dy) const {
    if (x.rank != 4 || dy.rank != 4) return no_shape;
    if (detail::is_open(x) || detail::is_open(dy)) return detail::open_shape(1);
    if (x.extent[3] % window.groups != 0) return no_shape;
    conv_geometry const g = window.over(x);
    if (!(dy == shape{4, {g.images, g.h.out, g.w.out, g.filters}})) return no_shape;
    return {1, {g.kernel_size()}};
  }
  static constexpr std::int64_t operations(shape dw, shape, shape dy) {
    return dy.extent[3] == 0 ? 0 : 2 * (dy.size() / dy.extent[3]) * dw.size();
  }
  template <class T>
  void host(call_context const&, tile<T> dw, tile<T const> x, tile<T const> dy) const {
    conv_geometry const g = window.over(x);
    if (g.is_depthwise())
      host::depthwise2d_kernel_gradient<T>(dw.data, x.data, dy.data, g);
    else
      host::conv2d_kernel_gradient<T>(dw.data, x.data, dy.data, g);
  }
  template <class T>
  bool is_for_cards(tile<T const> x, tile<T const>) const {
    return !window.over(x).is_depthwise();
  }
  template <class T>
  void card(card_context& here, tile<T> dw, tile<T const> x, tile<T const> dy) const;
  /// a matrix whose columns are folded: columns are weights, rows are pixels
  template <class T>
  auto team(call_context const&, tile<T> dw, tile<T const> x, tile<T const> dy) const;
};

#if LOCUS_CUDA_KERNELS
template <class T>
void conv2d_op::card(card_context& here, tile<T> y, tile<T const> x, tile<T const> w,
                     tile<T const> b) const {
  cards::window_slabs<T> const slabs(window.over(x));
  cards::conv_cudnn<T> cudnn(here, cards::convolution_result::y, slabs.of);
  cards::conv2d(here, slabs, y.data, x.data, w.data, store(b), &cudnn);
}
template <class T>
void conv2d_input_gradient_op::card(card_context& here, tile<T> dx, tile<T const> dy,
                                    tile<T const> w) const {
  conv_geometry const g = geometry(dy);
  auto const gradient = [&](std::int64_t first, std::int64_t) {
    return dy.data + first * g.filters;
  };
  cards::input_slabs<T> const slabs(g);
  cards::conv_cudnn<T> cudnn(here, cards::convolution_result::dx, g);
  cards::conv_input_gradient(here, slabs, dx.data, gradient, w.data, &cudnn);
}
template <class T>
void conv2d_kernel_gradient_op::card(card_context& here, tile<T> dw, tile<T const> x,
                                     tile<T const> dy) const {
  conv_geometry const g = window.over(x);
  auto const gradient = [&](std::int64_t first, std::int64_t) {
    return dy.data + first * g.filters;
  };
  cards::window_slabs<T> const slabs(g);
  cards::conv_cudnn<T> cudnn(here, cards::convolution_result::dkernel, g);
  cards::conv_kernel_gradient<T>(here, slabs, dw.data, nullptr, x.data, gradient, &cudnn);
}
template <class T>
auto conv2d_kernel_gradient_op::team(call_context const&, tile<T> dw, tile<T const> x,
                                     tile<T const> dy) const {
  using body = detail::kernel_gradient_team<T>;
  conv_geometry const g = window.over(x);
  std::int64_t const lines = g.images * g.h.out, pixels = lines * g.w.out;
  return body{g,
              pixels,
              dw.size(),
              {g.w.out > 0 ? g.w.out : 1, pixels},
              {g.h.out > 0 ? g.h.out : 1, lines},
              cuda_side::are_vectors(g.group_filters(), dy.data),
              x.data,
              dy.data,
              dw.data};
}
#endif

}  // namespace locus::nn
