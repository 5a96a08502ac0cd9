// SPDX-License-Identifier: Apache-2.0
// Pools of images as steps of a plan, and their gradients.
#pragma once
#include <type_traits>  // conditional

#include <locus/nn/kernels/pool2d.hpp>      // max_pool2d, average_pool2d
#include <locus/nn/kernels/pool_best.hpp>   // pool_best, is_largest
#include <locus/nn/kernels/window.hpp>      // pool_geometry, place_in
#include <locus/nn/kernels/workspace.hpp>   // workspace
#include <locus/nn/layers/conv2d_ops.hpp>   // is_open, open_shape
#include <locus/nn/layers/window_axes.hpp>  // window_axes
#if LOCUS_CUDA_KERNELS
#include <locus/nn/kernels/global_pool_card.hpp>  // cards::global_max_gradient
#include <locus/nn/kernels/pool_card.hpp>         // cards::max_pool2d, cards::average_pool2d
#endif

namespace locus::nn {

/// The settings of a pool over images, without the extents of the images. A size of 0: the whole
/// axis.
struct pool2d_window {
  window_steps h, w;
  padding pad = padding::valid;

  constexpr window_axes<2> axes() const { return {{h, w}, pad}; }
  LOCUS_HOST_DEVICE constexpr pool_geometry over(std::int64_t images, std::int64_t rows,
                                                 std::int64_t columns,
                                                 std::int64_t channels) const {
    return {{images, slide(rows, h.size ? h.size : rows, h.stride, 1, pad),
             slide(columns, w.size ? w.size : columns, w.stride, 1, pad), channels}};
  }
  template <class T>
  LOCUS_HOST_DEVICE constexpr pool_geometry over(tile<T> const& x) const {
    return over(x.extent[0], x.extent[1], x.extent[2], x.extent[3]);
  }
  constexpr shape pooled(shape const& x) const {
    if (x.rank != 4) return no_shape;
    if (detail::is_open(x)) return detail::open_shape(4);
    auto const g = over(x.extent[0], x.extent[1], x.extent[2], x.extent[3]);
    return {4, {g.images, g.h.out, g.w.out, g.channels}};
  }
};

namespace detail {

/// means: every index into the images and the results is below 2^31, as the kernels for cards need
inline bool is_short(pool_geometry const& g) {
  constexpr std::int64_t most = std::int64_t(1) << 31;
  auto const fits = [](window_axis const& a) { return a.in + a.size + a.stride < most; };
  return g.input_size() < most && g.output_size() < most && fits(g.h) && fits(g.w);
}

}  // namespace detail

/// means: result 0: the largest number of each window; result 1: its place in the window, of
///        several the first
/// shape: (rows, H, W, C) -> (rows, H', W', C), for windows of at most 256 elements
struct max_pool2d_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "max_pool2d",
                                  .operands = {rows},
                                  .results = {rows, rows},
                                  .tensorflow = "MaxPool",
                                  .fixed_bits = true};
  pool2d_window window;

  template <int Result, class T>
  using result = std::conditional_t<Result == 1, std::uint8_t, T>;
  constexpr shape infer(int, shape x) const { return window.pooled(x); }
  template <class T>
  void host(call_context const&, tile<T> y, tile<std::uint8_t> winner, tile<T const> x) const {
    pool_geometry const g = window.over(x);
    host::workspace<T> const unread(y.data ? 0 : y.size());
    LOCUS_CHOSEN(nn::host, max_pool2d<T, std::uint8_t>)(y.data ? y.data : unread.data(),
                                                        winner.data, x.data, g);
  }
  template <class T>
  bool is_for_cards(tile<T const> x) const {
    return detail::is_short(window.over(x));
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<std::uint8_t> winner, tile<T const> x) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE result<Result, T> element(std::int64_t i, call_context const&,
                                              tile<result<Result, T>>, tile<T const> x) const {
    pool_geometry const g = window.over(x);
    pixel_place const p = place_in(i, g.h.out, g.w.out, g.channels);
    detail::pool_best<T> best;
    g.each_input(p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t element) {
      best.add(x[g.input(p.image, line, column) * g.channels + p.channel],
               static_cast<int>(element));
    });
    if constexpr (Result == 1)
      return static_cast<std::uint8_t>(best.place);
    else
      return best.value;
  }
};

/// means: dx[i] = the sum of dy of the windows whose winner is input i
/// shape: dy, winners -> (rows, in...), in: the extents of one image
struct max_pool2d_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "max_pool2d_gradient",
                                  .operands = {rows, rows},
                                  .results = {rows},
                                  .tensorflow = "MaxPoolGrad"};
  pool2d_window window;
  shape in{3, {1, 1, 1}};

  template <class T>
  LOCUS_HOST_DEVICE constexpr pool_geometry geometry(tile<T> const& dy) const {
    return window.over(dy.extent[0], in.extent[0], in.extent[1], in.extent[2]);
  }
  constexpr shape infer(int, shape dy, shape winner) const {
    if (dy.rank != 4 || winner.rank != 4) return no_shape;
    if (detail::is_open(dy)) return detail::open_shape(4);
    shape const x{4, {dy.extent[0], in.extent[0], in.extent[1], in.extent[2]}};
    return window.pooled(x) == dy && winner == dy ? x : no_shape;
  }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T const> dy,
            tile<std::uint8_t const> winner) const {
    LOCUS_CHOSEN(nn::host, max_pool2d_gradient<T, std::uint8_t>)(dx.data, dy.data, winner.data,
                                                                 geometry(dy));
  }
  template <class T>
  bool is_for_cards(tile<T const> dy, tile<std::uint8_t const>) const {
    return detail::is_short(geometry(dy));
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> dy,
            tile<std::uint8_t const> winner) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> dy,
                              tile<std::uint8_t const> winner) const {
    pool_geometry const g = geometry(dy);
    pixel_place const p = place_in(i, g.h.in, g.w.in, g.channels);
    T sum = T(0);
    g.each_result<true>(
        p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t element) {
          std::int64_t const o = g.result(p.image, line, column) * g.channels + p.channel;
          if (winner[o] == element) sum += dy[o];
        });
    return sum;
  }
};

/// means: the mean over the pixels of each window that lie in the image
struct average_pool2d_op {
  using enum call_role;
  static constexpr call_rule rule{
      .name = "average_pool2d", .operands = {rows}, .results = {rows}, .tensorflow = "AvgPool"};
  pool2d_window window;

  constexpr shape infer(int, shape x) const { return window.pooled(x); }
  static constexpr std::int64_t operations(shape, shape x) { return x.size(); }
  template <class T>
  void host(call_context const&, tile<T> y, tile<T const> x) const {
    LOCUS_CHOSEN(nn::host, average_pool2d<T>)(y.data, x.data, window.over(x));
  }
  template <class T>
  bool is_for_cards(tile<T const> x) const {
    return detail::is_short(window.over(x));
  }
  template <class T>
  void card(card_context& here, tile<T> y, tile<T const> x) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x) const {
    pool_geometry const g = window.over(x);
    pixel_place const p = place_in(i, g.h.out, g.w.out, g.channels);
    T sum = T(0), count = T(0);
    g.each_input(p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t) {
      sum += x[g.input(p.image, line, column) * g.channels + p.channel];
      count += T(1);
    });
    return sum / count;
  }
};

/// means: dx[i] = the sum of dy[o] / (pixels of window o in the image) over the windows o that
///        contain input i
struct average_pool2d_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{.name = "average_pool2d_gradient",
                                  .operands = {rows},
                                  .results = {rows},
                                  .tensorflow = "AvgPoolGrad"};
  pool2d_window window;
  shape in{3, {1, 1, 1}};

  template <class T>
  LOCUS_HOST_DEVICE constexpr pool_geometry geometry(tile<T> const& dy) const {
    return window.over(dy.extent[0], in.extent[0], in.extent[1], in.extent[2]);
  }
  constexpr shape infer(int, shape dy) const {
    if (dy.rank != 4) return no_shape;
    if (detail::is_open(dy)) return detail::open_shape(4);
    shape const x{4, {dy.extent[0], in.extent[0], in.extent[1], in.extent[2]}};
    return window.pooled(x) == dy ? x : no_shape;
  }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T const> dy) const {
    LOCUS_CHOSEN(nn::host, average_pool2d_gradient<T>)(dx.data, dy.data, geometry(dy));
  }
  template <class T>
  bool is_for_cards(tile<T const> dy) const {
    return detail::is_short(geometry(dy));
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> dy) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>,
                              tile<T const> dy) const {
    pool_geometry const g = geometry(dy);
    pixel_place const p = place_in(i, g.h.in, g.w.in, g.channels);
    T sum = T(0);
    g.each_result<true>(p.y, p.x, [&](std::int64_t line, std::int64_t column, std::int64_t) {
      std::int64_t const o = g.result(p.image, line, column) * g.channels + p.channel;
      sum += dy[o] / static_cast<T>(g.h.count_inside(line) * g.w.count_inside(column));
    });
    return sum;
  }
};

/// means: dx of the maximum over a whole image; several largest numbers share dy
/// shape: x, y (rows, 1, 1, C), dy -> as x
/// after: TensorFlow's reduce_max
struct global_max_gradient_op {
  using enum call_role;
  static constexpr call_rule rule{
      .name = "global_max_gradient", .operands = {rows, rows, rows}, .results = {rows}};

  static constexpr shape infer(int, shape x, shape, shape) { return x.rank == 4 ? x : no_shape; }
  static constexpr std::int64_t operations(shape, shape x, shape, shape) { return 2 * x.size(); }
  template <class T>
  void host(call_context const&, tile<T> dx, tile<T const> x, tile<T const> y,
            tile<T const> dy) const {
    std::int64_t const pixels = x.extent[1] * x.extent[2], channels = x.extent[3];
    parallel_for(x.extent[0], host::detail::threads_for_numbers(x.size()), [&](std::int64_t image) {
      T const* const from = x.data + image * pixels * channels;
      T* const to = dx.data + image * pixels * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        T const best = y[image * channels + c];
        auto wins = [&](T v) { return detail::is_largest(v, best); };
        std::int64_t count = 0;
        for (std::int64_t p = 0; p < pixels; ++p) count += wins(from[p * channels + c]);
        T const share = dy[image * channels + c] / static_cast<T>(count);
        for (std::int64_t p = 0; p < pixels; ++p)
          to[p * channels + c] = wins(from[p * channels + c]) ? share : T(0);
      }
    });
  }
  template <class T>
  void card(card_context& here, tile<T> dx, tile<T const> x, tile<T const> y,
            tile<T const> dy) const;
  template <int Result, class T>
  LOCUS_HOST_DEVICE T element(std::int64_t i, call_context const&, tile<T>, tile<T const> x,
                              tile<T const> y, tile<T const> dy) const {
    std::int64_t const pixels = x.extent[1] * x.extent[2], channels = x.extent[3];
    std::int64_t const c = i % channels, image = i / channels / pixels;
    T const best = y[image * channels + c];
    if (!detail::is_largest(x[i], best)) return T(0);
    std::int64_t count = 0;
    for (std::int64_t p = 0; p < pixels; ++p)
      count += detail::is_largest(x[(image * pixels + p) * channels + c], best);
    return dy[image * channels + c] / static_cast<T>(count);
  }
};

#if LOCUS_CUDA_KERNELS
template <class T>
void max_pool2d_op::card(card_context& here, tile<T> y, tile<std::uint8_t> winner,
                         tile<T const> x) const {
  cards::max_pool2d(here, window.over(x), x.data, y.data, winner.data);
}
template <class T>
void max_pool2d_gradient_op::card(card_context& here, tile<T> dx, tile<T const> dy,
                                  tile<std::uint8_t const> winner) const {
  cards::max_pool2d_gradient(here, geometry(dy), dy.data, winner.data, dx.data);
}
template <class T>
void average_pool2d_op::card(card_context& here, tile<T> y, tile<T const> x) const {
  cards::average_pool2d(here, window.over(x), x.data, y.data);
}
template <class T>
void average_pool2d_gradient_op::card(card_context& here, tile<T> dx, tile<T const> dy) const {
  cards::average_pool2d_gradient(here, geometry(dy), dy.data, dx.data);
}
template <class T>
void global_max_gradient_op::card(card_context& here, tile<T> dx, tile<T const> x, tile<T const> y,
                                  tile<T const> dy) const {
  cards::global_max_gradient(here, x.extent[0], x.extent[1] * x.extent[2], x.extent[3], x.data,
                             y.data, dy.data, dx.data);
}
#endif

}  // namespace locus::nn
