// SPDX-License-Identifier: Apache-2.0
// Convolutions along one axis as steps of a plan, with bias, relu and a pool behind them. The kernel
// lies flat as (taps, channels / groups, filters).
#pragma once
#include <type_traits>  // conditional

#include <locus/nn/kernels/conv1d.hpp>           // conv1d
#include <locus/nn/kernels/conv1d_backward.hpp>  // conv1d_backward
#include <locus/nn/kernels/pool_best.hpp>        // pool_best
#include <locus/nn/layers/window.hpp>            // slide
#include <locus/ops/call.hpp>                    // call_rule, tile
#if LOCUS_CUDA_KERNELS
#include <locus/nn/kernels/conv1d_card.hpp>  // cards::conv1d
#endif

namespace locus::nn {

/// What a convolution along one axis is, whatever the examples. pool: so many rows become their largest.
struct conv1d_window {
  std::int64_t taps = 1, stride = 1, dilation = 1, filters = 1, groups = 1, pool = 1;
  padding pad = padding::valid;
  bool relu = false;

  LOCUS_HOST_DEVICE constexpr conv1d_sizes over(std::int64_t steps, std::int64_t channels) const {
    window_axis const a = slide(steps, taps, stride, dilation, pad);
    conv1d_sizes s{steps, channels, filters, taps};
    s.stride = stride, s.dilation = dilation, s.groups = groups;
    s.left = a.before, s.windows = a.out, s.pool = pool, s.relu = relu;
    return s;
  }
  template <class T>
  LOCUS_HOST_DEVICE constexpr conv1d_sizes over(tile<T> const& x) const {
    return over(x.extent[1], x.extent[2]);
  }
  template <class T>
  constexpr bool is_depthwise(tile<T const> const& x) const {
    return groups > 1 && groups == x.extent[2];
  }
  /// means: x and the flat kernel fit
  constexpr bool takes(shape const& x, shape const& w) const {
    return x.rank == 3 && w.rank == 1 &&
           (!x.is_static() || !w.is_static() ||
            (x.extent[2] % groups == 0 && w.extent[0] == over(x.extent[1], x.extent[2]).weights()));
  }
};

namespace detail {

/// of an array (batch, rows, numbers): where element i lies
struct step_place {
  std::int64_t example, step, number;
};
LOCUS_HOST_DEVICE constexpr step_place step_of(std::int64_t i, std::int64_t steps,
                                               std::int64_t numbers) {
  return {i / numbers / steps, i / numbers % steps, i % numbers};
}

/// means: visit(step of the example, tap) for each number of a window that lies in it
template <class Visit>
LOCUS_HOST_DEVICE constexpr void each_tap(conv1d_sizes const& s, std::int64_t row, Visit const& v) {
  for (std::int64_t t = 0; t < s.taps; ++t) {
    std::int64_t const at = row * s.stride + t * s.dilation - s.left;
    if (at >= 0 && at < s.steps) v(at, t);
  }
}

/// the gradient of one number of the convolution, back through pool and relu
template <class T, class Marks>
struct conv1d_slope {
  conv1d_sizes s;
  Marks const* marks;  // winners behind a pool, otherwise y
  T const* dy;
  LOCUS_HOST_DEVICE constexpr T operator()(std::int64_t example, std::int64_t row,
                                           std::int64_t filter) const {
    std::int64_t const i = (example * s.rows() + row / s.pool) * s.filters + filter;
    if (s.pool > 1) return static_cast<std::int64_t>(marks[i]) == row % s.pool + 1 ? dy[i] : T(0);
    return s.relu && marks[i] == Marks(0) ? T(0) : dy[i];
  }
};

}  // namespace detail

/// means: result 0: the largest of each pool of x * kernel + bias, at least 0 with relu; result 1: 1 +
///        which row of the pool it is, 0 where relu cut it off
/// shape: (rows, steps, channels), flat kernel, (filters) -> (rows, steps', filters) twice
struct conv1d_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv1d",
                                  .operands = {rows, whole, whole},
                                  .results = {rows, rows},
                                  .tensorflow = "Conv2D"};
  conv1d_window window;
  bool biased = true;

  template <int Result, class T, class...>
  using result = std::conditional_t<Result == 1, std::uint8_t, T>;
  constexpr shape infer(int, shape x, shape w, shape b) const {
    if (!window.takes(x, w) || b.rank != 1) return no_shape;
    if (!x.is_static()) return {3, {dyn, dyn, dyn}};
    conv1d_sizes const s = window.over(x.extent[1], x.extent[2]);
    return {3, {x.extent[0], s.rows(), s.filters}};
  }
  static constexpr std::int64_t operations(shape y, shape, shape w, shape) {
    return y.extent[2] == 0 ? 0 : 2 * (y.size() / y.extent[2]) * w.size();
  }
  template <class T>
  void host(call_context const&, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
            tile<T const> w, tile<T const> b) const {
    host::workspace<T> const unread(y.data ? 0 : y.size());
    host::conv1d<T>(window.over(x), x.extent[0], x.data, w.data, biased ? b.data : nullptr,
                    y.data ? y.data : unread.data(), winner.data);
  }
  /// of channels by themselves a product would be mostly 0
  template <class T>
  bool is_for_cards(tile<T const> x, tile<T const>, tile<T const>) const {
    return !window.is_depthwise(x);
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
            tile<T const> w, tile<T const> b) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE result<Result, T> element(std::int64_t i, call_context const&,
                                              tile<result<Result, T>>, tile<T const> x,
                                              tile<T const> w, tile<T const> b) const {
    conv1d_sizes const s = window.over(x);
    detail::step_place const p = detail::step_of(i, s.rows(), s.filters);
    std::int64_t const each = s.group_channels(), first = p.number / s.group_filters() * each;
    detail::pool_best<T> best;
    for (std::int64_t r = 0; r < s.pool; ++r) {
      T sum = T(0);
      detail::each_tap(s, p.step * s.pool + r, [&](std::int64_t at, std::int64_t t) {
        T const* const from = x.data + (p.example * s.steps + at) * s.channels + first;
        T const* const weight = w.data + t * each * s.filters + p.number;
        for (std::int64_t c = 0; c < each; ++c) sum += from[c] * weight[c * s.filters];
      });
      if (biased) sum += b[p.number];
      best.add(sum, int(r));
    }
    if (s.relu && best.value <= T(0)) best = {};
    if constexpr (Result == 1)
      return static_cast<std::uint8_t>(best.place + 1);
    else
      return best.value;
  }
};

/// means: dx, and this replica's terms of the gradients of kernel and bias, from dy. marks: behind a
///        pool the winners that conv1d_op gave, otherwise its y
/// shape: x, flat kernel, marks, dy -> as x, as the kernel, (filters)
struct conv1d_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv1d_gradient",
                                  .operands = {rows, whole, rows, rows},
                                  .results = {rows, terms, terms},
                                  .tensorflow = "Conv2DBackprop"};
  conv1d_window window;

  constexpr shape infer(int r, shape x, shape w, shape marks, shape dy) const {
    if (!window.takes(x, w) || dy.rank != 3 || marks.rank != 3) return no_shape;
    return r == 0 ? x : r == 1 ? w : shape{1, {dy.extent[2]}};
  }
  static constexpr std::int64_t operations(shape, shape, shape w, shape, shape dy) {
    return dy.extent[2] == 0 ? 0 : 4 * (dy.size() / dy.extent[2]) * w.size();
  }
  template <class T, class Marks>
  void host(call_context const&, tile<T> dx, tile<T> dw, tile<T> db, tile<T const> x,
            tile<T const> w, tile<Marks const> marks, tile<T const> dy) const {
    T const* y = nullptr;
    unsigned char const* winners = nullptr;
    if constexpr (std::is_same_v<Marks, T>)
      y = marks.data;
    else
      winners = marks.data;
    host::conv1d_backward<T>(window.over(x), x.extent[0], x.data, w.data, y, winners, dy.data,
                             dw.data, db.data, dx.data);
  }
  template <class T, class Marks>
  bool is_for_cards(tile<T const> x, tile<T const>, tile<Marks const>, tile<T const>) const {
    return !window.is_depthwise(x);
  }
  template <class T, class Marks>
  void card(card_context& here, tile<T> dx, tile<T> dw, tile<T> db, tile<T const> x,
            tile<T const> w, tile<Marks const> marks, tile<T const> dy) const;
  template <int Result, class T, class Marks>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> w, tile<Marks const> marks, tile<T const> dy) const {
    conv1d_sizes const s = window.over(x);
    detail::conv1d_slope<T, Marks> const slope{s, marks.data, dy.data};
    std::int64_t const each = s.group_channels();
    T sum = T(0);
    if constexpr (Result == 0) {
      detail::step_place const p = detail::step_of(i, s.steps, s.channels);
      std::int64_t const first = p.number / each * s.group_filters();
      for (std::int64_t t = 0; t < s.taps; ++t) {
        std::int64_t const from = p.step + s.left - t * s.dilation;
        if (from < 0 || from % s.stride != 0 || from / s.stride >= s.used()) continue;
        T const* const weight = w.data + (t * each + p.number % each) * s.filters;
        for (std::int64_t f = first; f < first + s.group_filters(); ++f)
          sum += slope(p.example, from / s.stride, f) * weight[f];
      }
    } else if constexpr (Result == 1) {
      std::int64_t const f = i % s.filters, c = i / s.filters % each, t = i / s.filters / each;
      std::int64_t const channel = f / s.group_filters() * each + c;
      for (std::int64_t n = 0; n < x.extent[0]; ++n)
        for (std::int64_t row = 0; row < s.used(); ++row) {
          std::int64_t const at = row * s.stride + t * s.dilation - s.left;
          if (at >= 0 && at < s.steps)
            sum += slope(n, row, f) * x[(n * s.steps + at) * s.channels + channel];
        }
    } else
      for (std::int64_t n = 0; n < x.extent[0]; ++n)
        for (std::int64_t row = 0; row < s.used(); ++row) sum += slope(n, row, i);
    return sum;
  }
};

#if LOCUS_CUDA_KERNELS
template <class T>
void conv1d_op::card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
                     tile<T const> w, tile<T const> b) const {
  conv1d_sizes const s = window.over(x);
  cards::window_slabs<T> const slabs(cards::as_column(s, x.extent[0]), s.pool);
  conv2d_geometry const& g = slabs.of;
  cards::conv_cudnn<T> cudnn(here, cards::convolution_result::y, g,
                             cards::is_in_place(s, y.data) ? 0 : g.h.out * g.filters);
  cards::conv1d(here, s, slabs, x.data, w.data, biased ? b.data : nullptr, y.data, winner.data,
                &cudnn);
}
template <class T, class Marks>
void conv1d_gradient_op::card(card_context& here, tile<T> dx, tile<T> dw, tile<T> db,
                              tile<T const> x, tile<T const> w, tile<Marks const> marks,
                              tile<T const> dy) const {
  conv1d_sizes const s = window.over(x);
  conv2d_geometry const g = cards::as_column(s, x.extent[0]);
  detail::conv1d_slope<T, Marks> const slope{s, marks.data, dy.data};
  cards::window_slabs<T> const windows(g);
  cards::input_slabs<T> const inputs(g);
  std::int64_t const slopes = cards::has_own_slopes(s) ? g.filters : 0, for_bias = db.data ? 1 : 0;
  cards::conv_cudnn<T> for_kernel(here, cards::convolution_result::dkernel,
                                  dw.data ? g : conv2d_geometry{}, g.h.out * (slopes + for_bias)),
      for_input(here, cards::convolution_result::dx, dx.data ? g : conv2d_geometry{},
                g.h.out * slopes);
  cards::conv1d_backward(here, s, windows, inputs, x.data, w.data, dy.data, slope, dx.data, dw.data,
                         db.data, &for_kernel, &for_input);
}
#endif

}  // namespace locus::nn
