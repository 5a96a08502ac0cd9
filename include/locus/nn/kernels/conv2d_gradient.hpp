// SPDX-License-Identifier: Apache-2.0
// The gradient of the kernel of a convolution of images: some of its rows stay in registers while
// the pixels of a band are added. Each part of the images has its own sum; the sums are added in
// order.
#pragma once
#include <locus/nn/kernels/conv2d.hpp>  // bands, strips, segment_list, as_rows

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace detail {

/// The tasks of a sum over pixels: parts of the images, each with its own sum, and parts of the
/// columns of results.
struct gradient_cut {
  std::int64_t parts, columns;
};
inline gradient_cut cut_gradient(std::int64_t images, std::int64_t result_bytes,
                                 std::int64_t strip_count) {
  std::int64_t parts = (std::int64_t(8) << 20) / (result_bytes > 0 ? result_bytes : 1);
  parts = parts < 1 ? 1 : parts > 16 ? 16 : parts;
  if (parts > images) parts = images;
  if (parts < 1) parts = 1;
  std::int64_t const wanted = (8 + parts - 1) / parts;
  return {parts, wanted < strip_count ? wanted : strip_count};
}

/// The bands of x and dy that the gradient of a kernel reads; dy with `padded` channels.
template <class T>
struct gradient_bands {
  conv_geometry const& g;
  pixels<T const> x, dy;
  axis_taps h = forward_taps(g.h), w = forward_taps(g.w);
  axis_taps one_h{g.h.out, 1, 0, 1, {{0, 0}}}, one_w{g.w.out, 1, 0, 1, {{0, 0}}};
  band_cut cut;
  std::int64_t padded, x_room;  // channels of a copied pixel of dy; numbers of a copied band of x
  bool dy_as_is;                // all channels of dy are read, and lines are not cut: no copy

  gradient_bands(T const* from, T const* slopes, conv_geometry const& of, std::int64_t x_channels,
                 std::int64_t dy_channels, std::int64_t bytes_of_pixel, bool dy_whole)
      : g(of), x{from, g.images, g.h.in, g.w.in, g.channels},
        dy{slopes, g.images, g.h.out, g.w.out, g.filters},
        cut(cut_bands(1, g.h.out, g.w.out, bytes_of_pixel)), padded(dy_channels),
        x_room(round_up(largest_source(cut, h, w) * x_channels, 64)),
        dy_as_is(dy_whole && cut.across() == 1) {}

  std::int64_t room() const { return x_room + cut.band_rows * cut.band_columns * padded; }
  /// means: add(band of results, x, dy) for each band of an image; memory: room() numbers
  template <class Add>
  void each(std::int64_t image, T* memory, band_channels const& of_x, bool x_as_is,
            band_channels const& of_dy, Add const& add) const {
    for (std::int64_t number = 0; number < cut.bands_of_image(); ++number) {
      result_band b = cut.band(number);
      b.image = image;
      add(b, sources<T>(memory, x, b, h, w, of_x, x_as_is),
          sources<T>(memory + x_room, dy, b, one_h, one_w, of_dy, dy_as_is));
    }
  }
};

/// means: adds to rows of a sum over pixels; tiles do not overlap
template <class T>
void add_rows(typename tap_tiles<T>::by_rows const& tiles, tap_call<T> t, std::int64_t count) {
  for (int r = 0; count > 0;)
    if (tiles.rows[r] <= count) {
      tiles.run[r](t);
      t.a += tiles.rows[r] * t.a_row, t.c += tiles.rows[r] * t.c_row, count -= tiles.rows[r];
    } else
      ++r;
}

}  // namespace detail

/// means: dkernel[kh,kw,c,f] = sum over n, oh, ow of x[n,ih,iw,c] * dy[n,oh,ow,f]
/// cost:  a multiply-add for each product; the workspace is up to 16 kernels, and bands for each
///        thread
template <class T>
void conv2d_kernel_gradient(T* dkernel, T const* x, T const* dy, conv_geometry g) {
  if (g.kernel_size() == 0) return;
  g = detail::as_rows(g, false);
  std::int64_t const channels = g.group_channels(), columns = g.group_filters();
  tap_tiles<T> const& set = tap_tiles_for<T>(columns);
  detail::strips const s{columns, set.lanes};
  std::int64_t const padded = s.padded(), rows = g.h.size * g.w.size * channels;
  std::int64_t const each = g.groups * rows * padded;  // numbers of a part
  std::int64_t const strip_count = (padded + 2 * set.lanes - 1) / (2 * set.lanes);
  detail::gradient_cut const parts =
      detail::cut_gradient(g.images, each * std::int64_t(sizeof(T)), strip_count);
  detail::gradient_bands<T> const bands(x, dy, g, channels, padded, 512,
                                        g.groups == 1 && padded == columns);
  axis_taps const &h = bands.h, &w = bands.w;
  workspace<T> const sums(parts.parts * each);
  int const threads = ::locus::host::threads_for_product(g.output_size() * rows);
  parallel_for(static_cast<int>(parts.parts * parts.columns), threads, [&](int task) {
    std::int64_t const part = task / parts.columns, share = task % parts.columns;
    std::int64_t const first_strip = strip_count * share / parts.columns;
    std::int64_t const end_strip = strip_count * (share + 1) / parts.columns;
    std::int64_t const image_end = g.images * (part + 1) / parts.parts;
    T* const sum = sums.data() + part * each;
    for (std::int64_t gr = 0; gr < g.groups; ++gr)
      for (std::int64_t j = first_strip * 2 * set.lanes;
           j < detail::least(end_strip * 2 * set.lanes, columns); j += s.width(j))
        __builtin_memset(static_cast<void*>(sum + (gr * padded + j) * rows), 0,
                         sizeof(T) * std::size_t(s.width(j) * rows));
    workspace<T> const memory(bands.room());
    std::vector<std::int64_t> lines(static_cast<std::size_t>(bands.cut.band_rows));
    for (std::int64_t image = g.images * part / parts.parts; image < image_end; ++image)
      for (std::int64_t gr = 0; gr < g.groups; ++gr) {
        auto const add = [&](result_band const& b, band<T> const& a, band<T> const& d) {
          detail::segment_list const list(h, w, a.row, a.column, channels);
          for (std::int64_t y = 0; y < b.rows; ++y)
            lines[static_cast<std::size_t>(y)] = y * h.step * a.row;
          for (std::int64_t strip = first_strip; strip < end_strip; ++strip) {
            std::int64_t const j = strip * 2 * set.lanes;
            T* const to = sum + (gr * padded + j) * rows;
            for (std::size_t n = 0; n < list.offset.size(); ++n) {
              tap_call<T> t{a.data + list.offset[n],
                            d.data + j,
                            to + std::int64_t(n) * list.length * s.width(j),
                            lines.data(),
                            b.rows,
                            b.columns,
                            1,
                            w.step * a.column,
                            d.column,
                            s.width(j)};
              t.accumulate = true;
              detail::add_rows<T>(set.sums[s.registers(j) - 1], t, list.length);
            }
          }
        };
        bands.each(image, memory.data(), {gr * channels, channels, 1, channels}, true,
                   {gr * columns, columns, 1, padded}, add);
      }
  });
  // adds the parts in order
  parallel_for(static_cast<int>(g.groups * strip_count), threads, [&](int task) {
    std::int64_t const gr = task / strip_count, j = task % strip_count * 2 * set.lanes;
    T const* from_part = sums.data() + (gr * padded + j) * rows;
    for (std::int64_t r = 0; r < rows; ++r, from_part += s.width(j)) {
      T* const to = dkernel + r * g.filters + gr * columns + j;
      for (std::int64_t q = 0; q < s.valid(j); ++q) {
        T total = from_part[q];
        for (std::int64_t part = 1; part < parts.parts; ++part) total += from_part[part * each + q];
        to[q] = total;
      }
    }
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host
