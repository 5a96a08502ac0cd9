// SPDX-License-Identifier: Apache-2.0
// Convolutions along one axis as steps of a plan, with bias, relu and a pool behind them. The kernel
// lies flat as (taps, channels / groups, filters).
#pragma once
#include <type_traits>  // conditional

#include <locus/nn/kernels/conv1d.hpp>           // conv1d
#include <locus/nn/kernels/conv1d_backward.hpp>  // conv1d_backward
#include <locus/nn/kernels/pool_best.hpp>        // pool_best
#include <locus/nn/layers/conv_window.hpp>       // conv_window, convolved, input_slope
#include <locus/ops/call.hpp>                    // call_rule, tile
#if LOCUS_CUDA_KERNELS
#include <locus/nn/kernels/conv1d_card.hpp>  // cards::conv1d
#endif

namespace locus::nn {

namespace detail {

/// means: the flat kernel w fits examples x
constexpr bool takes_steps(conv_window const& window, shape const& x, shape const& w) {
  return x.rank == 3 && w.rank == 1 &&
         (!x.is_static() || !w.is_static() ||
          (x.extent[2] % window.groups == 0 && w.extent[0] == window.over(x).kernel_size()));
}
/// means: the gradient of one number of the convolution, from dy behind relu and pool
template <class T, class Marks>
struct conv1d_slope {
  conv_geometry s;     // without the lines that the pool does not read
  Marks const* marks;  // winners behind a pool, otherwise y
  T const* dy;
  /// row: counted over all examples
  LOCUS_HOST_DEVICE constexpr T operator()(std::int64_t row, std::int64_t filter) const {
    std::int64_t const i = row / s.pool * s.filters + filter;
    if (s.pool > 1) return static_cast<std::int64_t>(marks[i]) == row % s.pool + 1 ? dy[i] : T(0);
    return s.relu && marks[i] == Marks(0) ? T(0) : dy[i];
  }
};

}  // namespace detail

/// means: result 0: the largest number of each pool of x * kernel + bias, at least 0 with relu;
///        result 1: 1 + its row in the pool, 0 where relu gives 0
/// shape: (rows, steps, channels), flat kernel, (filters) -> (rows, steps', filters) twice
struct conv1d_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv1d",
                                  .operands = {rows, whole, whole},
                                  .results = {rows, rows},
                                  .tensorflow = "Conv2D"};
  conv_window window;
  bool biased = true;

  template <int Result, class T, class...>
  using result = std::conditional_t<Result == 1, std::uint8_t, T>;
  constexpr shape infer(int, shape x, shape w, shape b) const {
    if (!detail::takes_steps(window, x, w) || b.rank != 1) return no_shape;
    if (!x.is_static()) return {3, {dyn, dyn, dyn}};
    conv_geometry const s = window.over(x);
    return {3, {x.extent[0], s.rows(), s.filters}};
  }
  static constexpr std::int64_t operations(shape y, shape, shape w, shape) {
    return y.extent[2] == 0 ? 0 : 2 * (y.size() / y.extent[2]) * w.size();
  }
  template <class T>
  void host(call_context const&, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
            tile<T const> w, tile<T const> b) const {
    host::workspace<T> const unread(y.data ? 0 : y.size());
    host::conv1d<T>(window.over(x), x.data, w.data, biased ? b.data : nullptr,
                    y.data ? y.data : unread.data(), winner.data);
  }
  /// false for a depthwise convolution: as a product it would multiply mostly zeros
  template <class T>
  bool is_for_cards(tile<T const> x, tile<T const>, tile<T const>) const {
    return !window.over(x).is_depthwise();
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
            tile<T const> w, tile<T const> b) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE result<Result, T> element(std::int64_t i, call_context const&,
                                              tile<result<Result, T>>, tile<T const> x,
                                              tile<T const> w, tile<T const> b) const {
    conv_geometry const s = window.over(x);
    pixel_place p = place_in(i, s.rows(), 1, s.filters);
    p.y *= s.pool;
    detail::pool_best<T> best;
    for (std::int64_t r = 0; r < s.pool; ++r, ++p.y) {
      T sum = detail::convolved(s, x.data, w.data, p, T(0));
      if (biased) sum += b[p.channel];
      best.add(sum, int(r));
    }
    if (s.relu && best.value <= T(0)) best = {};
    if constexpr (Result == 1)
      return static_cast<std::uint8_t>(best.place + 1);
    else
      return best.value;
  }
};

/// means: dx, and this replica's terms of the gradients of kernel and bias, from dy. marks: with a
///        pool, result 1 of conv1d_op; else its y
/// shape: x, flat kernel, marks, dy -> as x, as the kernel, (filters)
struct conv1d_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "conv1d_gradient",
                                  .operands = {rows, whole, rows, rows},
                                  .results = {rows, terms, terms},
                                  .tensorflow = "Conv2DBackprop"};
  conv_window window;

  constexpr shape infer(int r, shape x, shape w, shape marks, shape dy) const {
    if (!detail::takes_steps(window, x, w) || dy.rank != 3 || marks.rank != 3) return no_shape;
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
    host::conv1d_backward<T>(window.over(x), x.data, w.data, y, winners, dy.data, dw.data, db.data,
                             dx.data);
  }
  template <class T, class Marks>
  bool is_for_cards(tile<T const> x, tile<T const>, tile<Marks const>, tile<T const>) const {
    return !window.over(x).is_depthwise();
  }
  template <class T, class Marks>
  void card(card_context& here, tile<T> dx, tile<T> dw, tile<T> db, tile<T const> x,
            tile<T const> w, tile<Marks const> marks, tile<T const> dy) const;
  template <int Result, class T, class Marks>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> w, tile<Marks const> marks, tile<T const> dy) const {
    conv_geometry const s = window.over(x).without_unread();
    detail::conv1d_slope<T, Marks> const slope{s, marks.data, dy.data};
    if constexpr (Result == 0)
      return detail::input_slope(s, w.data, place_in(i, s.h.in, 1, s.channels), slope);
    else {
      T sum = T(0);
      std::int64_t const f = i % s.filters, k = i / s.filters, each = s.group_channels();
      std::int64_t const channel = f / s.group_filters() * each + k % each, tap = k / each;
      for (std::int64_t n = 0; n < s.images; ++n)
        for (std::int64_t line = 0; line < s.h.out; ++line)
          if constexpr (Result == 1) {
            std::int64_t const at = s.h.input(line, tap);
            if (s.h.is_inside(at))
              sum += slope(s.result(n, line, 0), f) * x[s.input(n, at, 0) * s.channels + channel];
          } else
            sum += slope(s.result(n, line, 0), i);
      return sum;
    }
  }
};

#if LOCUS_CUDA_KERNELS
template <class T>
void conv1d_op::card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x,
                     tile<T const> w, tile<T const> b) const {
  cards::window_slabs<T> const slabs(window.over(x).without_unread(), window.pool);
  conv_geometry const& g = slabs.of;
  cards::conv_cudnn<T> cudnn(here, cards::convolution_result::y, g,
                             cards::is_in_place(g, y.data) ? 0 : g.h.out * g.filters);
  cards::conv1d(here, slabs, x.data, w.data, biased ? b.data : nullptr, y.data, winner.data,
                &cudnn);
}
template <class T, class Marks>
void conv1d_gradient_op::card(card_context& here, tile<T> dx, tile<T> dw, tile<T> db,
                              tile<T const> x, tile<T const> w, tile<Marks const> marks,
                              tile<T const> dy) const {
  conv_geometry const g = window.over(x).without_unread();
  detail::conv1d_slope<T, Marks> const slope{g, marks.data, dy.data};
  cards::window_slabs<T> const windows(g);
  cards::input_slabs<T> const inputs(g);
  std::int64_t const slopes = cards::has_own_slopes(g) ? g.filters : 0, for_bias = db.data ? 1 : 0;
  cards::conv_cudnn<T> for_kernel(here, cards::convolution_result::dkernel,
                                  dw.data ? g : conv_geometry{}, g.h.out * (slopes + for_bias)),
      for_input(here, cards::convolution_result::dx, dx.data ? g : conv_geometry{},
                g.h.out * slopes);
  cards::conv1d_backward(here, windows, inputs, x.data, w.data, dy.data, slope, dx.data, dw.data,
                         db.data, &for_kernel, &for_input);
}
#endif

}  // namespace locus::nn
