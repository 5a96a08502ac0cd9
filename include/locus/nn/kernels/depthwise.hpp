// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, forward and backward: a filter reads one channel. Registers run over
// channels, tiles over pixels or over the elements of the window. The kernel is (KH, KW, channels,
// multiplier); filter c * multiplier + j reads channel c.
#pragma once
#include <locus/nn/kernels/conv2d_gradient.hpp>  // gradient_bands, tiles_of_row, segment_list

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace detail {

/// registers of channels; a last register that is not full overlaps the one before it
struct channel_blocks {
  std::int64_t channels, lanes;
  std::int64_t padded() const { return channels < lanes ? lanes : channels; }
  std::int64_t count() const { return (channels + lanes - 1) / lanes; }
  std::int64_t first(std::int64_t block) const {
    std::int64_t const at = block * lanes, last = padded() - lanes;
    return at < last ? at : last;
  }
};

/// means: results of one phase, as sum_taps. `filters`: channels of the array that has more;
///        filters / C of them belong to one of the C channels of the other array
template <class T>
void depthwise_taps(pixels<T> const& to, pixels<T const> const& from, axis_taps const& h,
                    axis_taps const& w, T const* kernel, std::int64_t window_columns,
                    std::int64_t filters, store_rule<T> const& rule) {
  tap_tiles<T> const& set = tap_tiles_for<T>(filters);
  channel_blocks const blocks{filters, set.lanes};
  std::int64_t const padded = blocks.padded(), repeat = filters / from.channels;
  std::int64_t const fold = filters / to.channels;
  std::vector<T> weights, bias;
  for (tap const& a : h.taps)
    for (tap const& b : w.taps) {
      T const* const row = kernel + (a.element * window_columns + b.element) * filters;
      weights.insert(weights.end(), row, row + filters);
      weights.resize(weights.size() + static_cast<std::size_t>(padded - filters));
    }
  if (rule.bias) bias.assign(rule.bias, rule.bias + filters), bias.resize(std::size_t(padded));
  band_cut const cut = cut_bands(to.images, h.results, w.results,
                                 padded * std::int64_t(sizeof(T)) * h.step * w.step);
  bool const direct = fold == 1 && padded == filters;
  std::int64_t const x_room = round_up(largest_source(cut, h, w) * padded, 64);
  std::int64_t const y_room = direct ? 0 : cut.band_columns * padded;
  std::int64_t const all = to.images * h.results * w.results * filters *
                           static_cast<std::int64_t>(h.taps.size() * w.taps.size() + 1);
  parallel_for(to.images * cut.bands_of_image(), ::locus::host::threads_for_product(4 * all),
               [&](std::int64_t task) {
                 result_band const b = cut.band(task);
                 workspace<T> const memory(x_room + y_room);
                 T* const line = memory.data() + x_room;
                 band<T> const x =
                     sources<T>(memory.data(), from, b, h, w, {0, from.channels, repeat, padded},
                                repeat == 1 && padded == filters);
                 segment_list const list(h, w, x.row, x.column, 0);
                 std::int64_t const to_column = w.to_step * to.channels;
                 for (std::int64_t y = 0; y < b.rows; ++y) {
                   T* const row = to.at(b.image, h.to_first + (b.y + y) * h.to_step,
                                        w.to_first + b.x * w.to_step);
                   for (std::int64_t n = 0; n < blocks.count(); ++n) {
                     std::int64_t const j = blocks.first(n);
                     tap_call<T> const t{
                         x.data + y * h.step * x.row + j,
                         weights.empty() ? nullptr : weights.data() + j,
                         direct ? row + j : line + j,
                         list.offset.data(),
                         static_cast<std::int64_t>(list.offset.size()),
                         1,
                         w.step * x.column,
                         1,
                         padded,
                         direct ? to_column : padded,
                         {rule.bias ? bias.data() + j : nullptr, rule.clamp, rule.low, rule.high}};
                     tiles_of_row<T>(set.channels, t, b.columns);
                   }
                   if (!direct)
                     for (std::int64_t i = 0; i < b.columns; ++i)
                       for (std::int64_t c = 0; c < to.channels; ++c) {
                         T sum = line[i * padded + c * fold];
                         for (std::int64_t k = 1; k < fold; ++k)
                           sum += line[i * padded + c * fold + k];
                         row[i * to_column + c] = sum;
                       }
                 }
               });
}

}  // namespace detail

/// means: y[n,oh,ow,c*m+j] = clamp(bias + sum over kh, kw of x[n,ih,iw,c] * kernel[kh,kw,c,j])
template <class T>
void depthwise2d(T* y, T const* x, T const* kernel, conv_geometry const& g,
                 store_rule<T> const& rule = {}) {
  if (g.output_size() == 0) return;
  detail::depthwise_taps<T>({y, g.images, g.h.out, g.w.out, g.filters},
                            {x, g.images, g.h.in, g.w.in, g.channels}, forward_taps(g.h),
                            forward_taps(g.w), kernel, g.w.size, g.filters, rule);
}

/// means: dx[n,ih,iw,c] = sum over kh, kw, j of dy[n,oh,ow,c*m+j] * kernel[kh,kw,c,j]
template <class T>
void depthwise2d_input_gradient(T* dx, T const* dy, T const* kernel, conv_geometry const& g) {
  if (g.input_size() == 0) return;
  for (std::int64_t a = 0; a < g.h.stride; ++a)
    for (std::int64_t b = 0; b < g.w.stride; ++b) {
      axis_taps const h = backward_taps(g.h, a), w = backward_taps(g.w, b);
      if (h.results == 0 || w.results == 0) continue;
      detail::depthwise_taps<T>({dx, g.images, g.h.in, g.w.in, g.channels},
                                {dy, g.images, g.h.out, g.w.out, g.filters}, h, w, kernel, g.w.size,
                                g.filters, {});
    }
}

/// means: dkernel[kh,kw,c,j] = sum over n, oh, ow of x[n,ih,iw,c] * dy[n,oh,ow,c*m+j]
template <class T>
void depthwise2d_kernel_gradient(T* dkernel, T const* x, T const* dy, conv_geometry const& g) {
  if (g.kernel_size() == 0) return;
  tap_tiles<T> const& set = tap_tiles_for<T>(g.filters);
  detail::channel_blocks const blocks{g.filters, set.lanes};
  std::int64_t const padded = blocks.padded(), repeat = g.filters / g.channels;
  std::int64_t const taps = g.h.size * g.w.size;
  std::int64_t const each = blocks.count() * taps * set.lanes;  // numbers of a part
  std::int64_t const parts =
      detail::cut_gradient(g.images, each * std::int64_t(sizeof(T)), 1).parts;
  bool const wide = padded == g.filters;
  detail::gradient_bands<T> const bands(x, dy, g, padded, padded, padded * std::int64_t(sizeof(T)),
                                        wide);
  axis_taps const &h = bands.h, &w = bands.w;
  workspace<T> const sums(parts * each);
  int const threads = ::locus::host::threads_for_product(4 * g.output_size() * taps);
  parallel_for(static_cast<int>(parts), threads, [&](int part) {
    T* const sum = sums.data() + part * each;
    __builtin_memset(static_cast<void*>(sum), 0, sizeof(T) * std::size_t(each));
    workspace<T> const memory(bands.room());
    auto const add = [&](result_band const& b, band<T> const& a, band<T> const& d) {
      detail::segment_list const list(h, w, a.row, a.column, 0);
      for (std::int64_t n = 0; n < blocks.count(); ++n) {
        std::int64_t const j = blocks.first(n);
        tap_call<T> t{
            a.data + j, d.data + j,     sum + n * taps * set.lanes, list.offset.data(), b.rows,
            b.columns,  h.step * a.row, w.step * a.column,          d.column,           set.lanes};
        t.accumulate = true;
        std::int64_t left = taps;
        for (int r = 0; left > 0;)
          if (set.taps.rows[r] <= left) {
            set.taps.run[r](t);
            t.offset += set.taps.rows[r], t.c += set.taps.rows[r] * set.lanes;
            left -= set.taps.rows[r];
          } else
            ++r;
      }
    };
    for (std::int64_t image = g.images * part / parts; image < g.images * (part + 1) / parts;
         ++image)
      bands.each(image, memory.data(), {0, g.channels, repeat, padded}, repeat == 1 && wide,
                 {0, g.filters, 1, padded}, add);
  });
  for (std::int64_t n = 0; n < blocks.count(); ++n)
    for (std::int64_t r = 0; r < taps; ++r)
      for (std::int64_t q = 0; q < set.lanes && blocks.first(n) + q < g.filters; ++q) {
        T const* const p = sums.data() + (n * taps + r) * set.lanes + q;
        T total = p[0];
        for (std::int64_t part = 1; part < parts; ++part) total += p[part * each];
        dkernel[r * g.filters + blocks.first(n) + q] = total;
      }
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
