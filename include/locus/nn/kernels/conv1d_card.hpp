// SPDX-License-Identifier: Apache-2.0
// A convolution along one axis on a GPU: its products, the pool behind them, and the slopes in
// front of pool and relu.
#pragma once
#include <locus/nn/kernels/conv_card.hpp>  // convolve
#include <locus/nn/kernels/pool_best.hpp>  // pool_best

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// means: result i = the largest sum of its pool, with bias and relu; winner = 1 + its row in the
///        pool, 0 where relu gives 0
template <class T>
struct pool_sums {
  conv_geometry s;
  T const *sums, *bias;  // no bias: null
  T* y;                  // without a pool, it may be `sums`
  std::uint8_t* winner;  // null: not stored
  cuda_side::quotient in_filters;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t f = i;
    std::int64_t const row = in_filters.divide(f);
    nn::detail::pool_best<T> best;
    for (std::int64_t r = 0; r < s.pool; ++r) {
      T sum = sums[(row * s.pool + r) * s.filters + f];
      if (bias) sum += bias[f];
      best.add(sum, int(r));
    }
    if (s.relu && best.value <= T(0)) best = {};
    if (y) y[i] = best.value;
    if (winner) winner[i] = static_cast<std::uint8_t>(best.place + 1);
  }
};

/// means: the sums are made in the memory of y
template <class T>
constexpr bool is_in_place(conv_geometry const& s, T const* y) {
  return s.pool == 1 && y;
}

/// means: as host::conv1d, to rounding; y or winner may be null
/// shape: slabs and cudnn have the lines that the pool reads; slabs are multiples of the pool
template <class T>
void conv1d(card_context& here, window_slabs<T> const& slabs, T const* x, T const* kernel,
            T const* bias, T* y, std::uint8_t* winner, conv_cudnn<T>* cudnn = nullptr) {
  conv_geometry const& s = slabs.of;
  bool const in_place = is_in_place(s, y);
  T* const memory = here.take<T>(in_place ? 0 : most_rows(slabs.rows, cudnn) * s.filters);
  auto const sums = [&](std::int64_t first) { return in_place ? y + first * s.filters : memory; };
  convolve(here, slabs, cudnn, x, kernel, sums, [&](std::int64_t first, std::int64_t n) {
    if (in_place && !winner && !bias && !s.relu) return;
    std::int64_t const from = first / s.pool * s.filters, results = n / s.pool * s.filters;
    here.each(results, pool_sums<T>{s,
                                    sums(first),
                                    bias,
                                    y ? y + from : nullptr,
                                    winner ? winner + from : nullptr,
                                    {s.filters, results}});
  });
}

/// Slopes of the rows from `first` on; Slope: (row, filter) -> T.
template <class T, class Slope>
struct slope_rows {
  Slope slope;
  std::int64_t first;
  T* to;
  cuda_side::quotient in_filters;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t f = i;
    std::int64_t const row = in_filters.divide(f) + first;
    to[i] = slope(row, f);
  }
};

/// means: a pool or a relu follows the convolution, so its slopes are not dy
constexpr bool has_own_slopes(conv_geometry const& s) { return s.pool > 1 || s.relu; }

/// means: as host::conv1d_backward, to rounding; any result may be null; without pool and relu the
///        slopes are dy
template <class T, class Slope>
void conv1d_backward(card_context& here, window_slabs<T> const& windows,
                     input_slabs<T> const& inputs, T const* x, T const* kernel, T const* dy,
                     Slope const& slope, T* dx, T* dkernel, T* dbias,
                     conv_cudnn<T>* for_kernel = nullptr, conv_cudnn<T>* for_input = nullptr) {
  conv_geometry const& s = windows.of;
  bool const is_dy = !has_own_slopes(s);
  std::int64_t const of_windows = most_rows(windows.rows, for_kernel),
                     of_inputs = most_rows(inputs.rows(), for_input),
                     most = of_windows > of_inputs ? of_windows : of_inputs;
  T* const memory = here.take<T>(is_dy ? 0 : most * s.filters);
  auto const rows = [&](std::int64_t first, std::int64_t n) -> T const* {
    if (is_dy) return dy + first * s.filters;
    std::int64_t const size = n * s.filters;
    here.each(size, slope_rows<T, Slope>{slope, first, memory, {s.filters, size}});
    return memory;
  };
  if (dkernel || dbias) conv_kernel_gradient(here, windows, dkernel, dbias, x, rows, for_kernel);
  if (dx) conv_input_gradient(here, inputs, dx, rows, kernel, for_input);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
