// SPDX-License-Identifier: Apache-2.0
// Pools of images on a GPU, forward and backward: a thread has 16 bytes of channels of one pixel if
// all such vectors begin at multiples of 16 bytes, else one channel. Indices have 32 bits.
#pragma once
#include <cstdint>  // uint8_t, uintptr_t

#include <locus/core/macros.hpp>                // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>    // card_context
#include <locus/engine/gpu/vectors.hpp>         // vector_of, with_vectors, store_whole
#include <locus/nn/kernels/pool2d.hpp>          // pool_geometry
#include <locus/nn/kernels/pool_best.hpp>       // pool_best
#include <locus/nn/kernels/window_kernels.hpp>  // short_axis, divider_of, divide

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// The indices [begin, end) of an axis.
struct short_range {
  std::int32_t begin, end;
};
/// The indices of the numbers of the images, and of the results.
struct pool_places {
  short_axis h, w;
  std::uint32_t channels;
  explicit pool_places(pool_geometry const& g)
      : h(g.h), w(g.w), channels(std::uint32_t(g.channels)) {}
  LOCUS_HOST_DEVICE std::uint32_t input(std::uint32_t image, std::int32_t y, std::int32_t x) const {
    return ((image * std::uint32_t(h.in) + std::uint32_t(y)) * std::uint32_t(w.in) +
            std::uint32_t(x)) *
           channels;
  }
  LOCUS_HOST_DEVICE std::uint32_t output(std::uint32_t image, std::int32_t y,
                                         std::int32_t x) const {
    return ((image * std::uint32_t(h.out) + std::uint32_t(y)) * std::uint32_t(w.out) +
            std::uint32_t(x)) *
           channels;
  }
  /// the elements [begin, end) of the window of result o that lie in the image
  LOCUS_HOST_DEVICE static short_range taps_inside(short_axis const& a, std::int32_t o) {
    std::int32_t const from = o * a.stride - a.before, rest = a.in - from;
    return {from < 0 ? -from : 0, rest < a.size ? rest : a.size};
  }
  /// means: f(vector, its place in the window) for each pixel of a result's window that lies in the
  ///        image, in order; four loads are in flight at a time
  LOCUS_EXEC_CHECK_DISABLE
  template <class Vector, class T, class F>
  LOCUS_HOST_DEVICE void each_tap(T const* x, std::uint32_t image, std::int32_t y, std::int32_t z,
                                  F&& f) const {
    constexpr int some = 4;
    short_range const rows = taps_inside(h, y), columns = taps_inside(w, z);
    std::int32_t const wide = columns.end - columns.begin, count = (rows.end - rows.begin) * wide;
    T const* from = x + input(image, y * h.stride - h.before + rows.begin,
                              z * w.stride - w.before + columns.begin);
    std::int32_t place = rows.begin * w.size + columns.begin, end = place + wide;
    for (std::int32_t first = 0; first < count; first += some) {
      Vector v[some];
      std::int32_t places[some];
      for (int k = 0; k < some; ++k) {
        if (first + k >= count) break;
        v[k] = *reinterpret_cast<Vector const*>(from), places[k] = place;
        from += channels;
        if (++place == end) {
          from += std::uint32_t(w.in - wide) * channels;
          place += w.size - wide, end += w.size;
        }
      }
      for (int k = 0; k < some; ++k)
        if (first + k < count) f(v[k], places[k]);
    }
  }
  /// the results [begin, end) whose windows contain input i
  LOCUS_HOST_DEVICE static short_range results_of(short_axis const& a,
                                                  cuda_side::divider const& stride,
                                                  std::int32_t i) {
    std::int32_t const at = i + a.before, end = std::int32_t(stride.divide(std::uint32_t(at))) + 1;
    return {at < a.size ? 0 : std::int32_t(stride.divide(std::uint32_t(at - a.size))) + 1,
            end < a.out ? end : a.out};
  }
};
/// Vector i of an array of pixels: its pixel, and its first channel.
struct vectors_of_pixels {
  cuda_side::divider in_pixel, in_line, in_image;
  struct place {
    std::uint32_t image, channel;
    std::int32_t y, x;
  };
  vectors_of_pixels(std::int64_t lines, std::int64_t columns, std::int64_t vectors)
      : in_pixel(divider_of(vectors)), in_line(divider_of(columns)), in_image(divider_of(lines)) {}
  template <int Size>
  LOCUS_HOST_DEVICE place find(std::int64_t i) const {
    auto c = static_cast<std::uint32_t>(i);
    std::uint32_t x = divide(c, in_pixel), y = divide(x, in_line);
    std::uint32_t const image = divide(y, in_image);
    return {image, c * Size, std::int32_t(y), std::int32_t(x)};
  }
};

/// y = the largest number of each window; winner = its place in the window, of several the first
template <class T, int Size>
struct max_of_windows : pool_places {
  using packet = cuda_side::vector_of<T, Size>;
  vectors_of_pixels of;
  T const* x;
  T* y;                  // null: no step reads the numbers
  std::uint8_t* winner;  // null: no step reads the places

  max_of_windows(pool_geometry const& g, T const* from, T* to, std::uint8_t* which)
      : pool_places(g), of(g.h.out, g.w.out, g.channels / Size), x(from), y(to), winner(which) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto const p = of.find<Size>(i);
    nn::detail::pool_best<T> best[Size];
    each_tap<packet>(x + p.channel, p.image, p.y, p.x, [&](packet const& v, std::int32_t at) {
      for (int j = 0; j < Size; ++j) best[j].add(v.element[j], at);
    });
    packet values;
    cuda_side::vector_of<std::uint8_t, Size> places;
    for (int j = 0; j < Size; ++j) {
      values.element[j] = best[j].value;
      places.element[j] = static_cast<std::uint8_t>(best[j].place);
    }
    if (y) cuda_side::store_whole(y + i * Size, values);
    if (winner) cuda_side::store_whole(winner + i * Size, places);
  }
};

/// Vector i of dx: add(sum, ...) for each window that contains the input.
template <class T, int Size>
struct slopes_of_inputs : pool_places {
  using packet = cuda_side::vector_of<T, Size>;
  vectors_of_pixels of;
  cuda_side::divider h_stride, w_stride;
  T const* dy;
  T* dx;

  slopes_of_inputs(pool_geometry const& g, T const* from, T* to)
      : pool_places(g), of(g.h.in, g.w.in, g.channels / Size), h_stride(divider_of(g.h.stride)),
        w_stride(divider_of(g.w.stride)), dy(from), dx(to) {}
  /// add(sum, dy of the window, its place among the results, the input's place, the window's row and column)
  LOCUS_EXEC_CHECK_DISABLE
  template <class Add>
  LOCUS_HOST_DEVICE void over_windows(std::int64_t i, Add const& add) const {
    auto const p = of.find<Size>(i);
    short_range const rows = results_of(h, h_stride, p.y), columns = results_of(w, w_stride, p.x);
    packet sum;
    for (int j = 0; j < Size; ++j) sum.element[j] = T(0);
    for (std::int32_t oh = rows.begin; oh < rows.end; ++oh)
      for (std::int32_t ow = columns.begin; ow < columns.end; ++ow) {
        std::uint32_t const o = output(p.image, oh, ow) + p.channel;
        add(sum, *reinterpret_cast<packet const*>(dy + o), o, p, oh, ow);
      }
    cuda_side::store_whole(dx + i * Size, sum);
  }
};

/// dx[i] = the sum of dy of the windows whose winner is input i
template <class T, int Size>
struct dy_of_winners : slopes_of_inputs<T, Size> {
  using base = slopes_of_inputs<T, Size>;
  using packet = typename base::packet;
  using base::h, base::w;
  std::uint8_t const* winner;

  dy_of_winners(pool_geometry const& g, T const* from, std::uint8_t const* which, T* to)
      : base(g, from, to), winner(which) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    this->over_windows(i, [&](packet& sum, packet const& d, std::uint32_t o,
                              vectors_of_pixels::place const& p, std::int32_t oh, std::int32_t ow) {
      std::int32_t const at =
          (p.y + h.before - oh * h.stride) * w.size + (p.x + w.before - ow * w.stride);
      auto const which =
          *reinterpret_cast<cuda_side::vector_of<std::uint8_t, Size> const*>(winner + o);
      for (int j = 0; j < Size; ++j)
        sum.element[j] = which.element[j] == at ? sum.element[j] + d.element[j] : sum.element[j];
    });
  }
};

/// The same for windows that share no input: a thread has a vector of a result and writes all
/// inputs from the beginning of its window up to the next windows; inputs between windows get
/// zeros.
template <class T, int Size>
struct dy_to_windows : pool_places {
  using packet = cuda_side::vector_of<T, Size>;
  using marks = cuda_side::vector_of<std::uint8_t, Size>;
  vectors_of_pixels of;
  T const* dy;
  std::uint8_t const* winner;
  T* dx;

  static bool serves(pool_geometry const& g) {
    return g.h.size <= g.h.stride && g.w.size <= g.w.stride;
  }
  /// the number of windows that begin before the end of the axis
  static std::int64_t begun(window_axis const& a) { return (a.in - 1 + a.before) / a.stride + 1; }
  static std::int64_t threads(pool_geometry const& g) {
    return g.images * begun(g.h) * begun(g.w) * (g.channels / Size);
  }

  dy_to_windows(pool_geometry const& g, T const* from, std::uint8_t const* which, T* to)
      : pool_places(g), of(begun(g.h), begun(g.w), g.channels / Size), dy(from), winner(which),
        dx(to) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto const p = of.find<Size>(i);
    packet d;
    marks which;
    bool const is_there = p.y < h.out && p.x < w.out;
    if (is_there) {
      std::uint32_t const o = output(p.image, p.y, p.x) + p.channel;
      d = *reinterpret_cast<packet const*>(dy + o);
      which = *reinterpret_cast<marks const*>(winner + o);
    } else
      for (int j = 0; j < Size; ++j) d.element[j] = T(0), which.element[j] = 0;
    for (int j = 0; j < Size; ++j) d.element[j] = T(0) + d.element[j];  // as a sum: no -0
    short_range const rows = in_image(h, p.y), columns = in_image(w, p.x);
    for (std::int32_t a = rows.begin; a < rows.end; ++a)
      for (std::int32_t b = columns.begin; b < columns.end; ++b) {
        std::int32_t const y = p.y * h.stride + a - h.before, x = p.x * w.stride + b - w.before;
        std::int32_t const at = a < h.size && b < w.size ? a * w.size + b : -1;
        packet to;
        for (int j = 0; j < Size; ++j) to.element[j] = which.element[j] == at ? d.element[j] : T(0);
        cuda_side::store_whole(dx + input(p.image, y, x) + p.channel, to);
      }
  }

 private:
  /// the inputs from the beginning of window o up to the next window, relative to the window
  LOCUS_HOST_DEVICE static short_range in_image(short_axis const& a, std::int32_t o) {
    std::int32_t const from = o * a.stride - a.before, rest = a.in - from;
    return {from < 0 ? -from : 0, rest < a.stride ? rest : a.stride};
  }
};

/// y = the mean over the pixels of each window that lie in the image
template <class T, int Size>
struct mean_of_windows : pool_places {
  using packet = cuda_side::vector_of<T, Size>;
  vectors_of_pixels of;
  T const* x;
  T* y;

  mean_of_windows(pool_geometry const& g, T const* from, T* to)
      : pool_places(g), of(g.h.out, g.w.out, g.channels / Size), x(from), y(to) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto const p = of.find<Size>(i);
    short_range const rows = taps_inside(h, p.y), columns = taps_inside(w, p.x);
    packet sum;
    for (int j = 0; j < Size; ++j) sum.element[j] = T(0);
    each_tap<packet>(x + p.channel, p.image, p.y, p.x, [&](packet const& v, std::int32_t) {
      for (int j = 0; j < Size; ++j) sum.element[j] += v.element[j];
    });
    T const count = static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (int j = 0; j < Size; ++j) sum.element[j] = sum.element[j] / count;
    cuda_side::store_whole(y + i * Size, sum);
  }
};

/// dx[i] = the sum of dy[o] / (pixels of window o in the image) over the windows o that contain
/// input i
template <class T, int Size>
struct dy_of_means : slopes_of_inputs<T, Size> {
  using base = slopes_of_inputs<T, Size>;
  using packet = typename base::packet;
  using base::base, base::h, base::w;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    this->over_windows(i, [&](packet& sum, packet const& d, std::uint32_t,
                              vectors_of_pixels::place const&, std::int32_t oh, std::int32_t ow) {
      short_range const down = base::taps_inside(h, oh), across = base::taps_inside(w, ow);
      T const count = static_cast<T>((down.end - down.begin) * (across.end - across.begin));
      for (int j = 0; j < Size; ++j) sum.element[j] += d.element[j] / count;
    });
  }
};

/// means: p is aligned for vectors of marks, which have a byte for each number of a vector of T
template <class T>
bool begins_marks(std::uint8_t const* p) {
  return reinterpret_cast<std::uintptr_t>(p) % unsigned(cuda_side::vector_elements<T>) == 0;
}

/// means: as host::max_pool2d, bit for bit; y or winner may be null
/// shape: every index into the images is below 2^31
template <class T>
void max_pool2d(card_context& here, pool_geometry const& g, T const* x, T* y,
                std::uint8_t* winner) {
  if (g.output_size() == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    here.each(g.output_size() / Size, max_of_windows<T, Size>(g, x, y, winner));
  };
  cuda_side::with_vectors(begins_marks<T>(winner) ? g.channels : 1, run, x, y);
}
/// means: as host::max_pool2d_gradient, bit for bit
/// shape: every index into the images is below 2^31
template <class T>
void max_pool2d_gradient(card_context& here, pool_geometry const& g, T const* dy,
                         std::uint8_t const* winner, T* dx) {
  if (g.input_size() == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    using apart = dy_to_windows<T, Size>;
    if (apart::serves(g)) return here.each(apart::threads(g), apart(g, dy, winner, dx));
    here.each(g.input_size() / Size, dy_of_winners<T, Size>(g, dy, winner, dx));
  };
  cuda_side::with_vectors(begins_marks<T>(winner) ? g.channels : 1, run, dy, dx);
}
/// means: as host::average_pool2d
/// shape: every index into the images is below 2^31
template <class T>
void average_pool2d(card_context& here, pool_geometry const& g, T const* x, T* y) {
  if (g.output_size() == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    here.each(g.output_size() / Size, mean_of_windows<T, Size>(g, x, y));
  };
  cuda_side::with_vectors(g.channels, run, x, y);
}
/// means: as host::average_pool2d_gradient
/// shape: every index into the images is below 2^31
template <class T>
void average_pool2d_gradient(card_context& here, pool_geometry const& g, T const* dy, T* dx) {
  if (g.input_size() == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    here.each(g.input_size() / Size, dy_of_means<T, Size>(g, dy, dx));
  };
  cuda_side::with_vectors(g.channels, run, dy, dx);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
