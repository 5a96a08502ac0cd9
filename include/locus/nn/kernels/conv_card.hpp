// SPDX-License-Identifier: Apache-2.0
// Convolutions on a GPU as products of cuBLAS. The windows of a slab of pixels become rows of a matrix in
// workspace; pixels are a matrix already where a window has one.
#pragma once
#include <locus/backend/cuda/inputs.hpp>      // divider
#include <locus/backend/cuda/lines.hpp>       // quotient
#include <locus/backend/cuda/vectors.hpp>     // vector_of, store_whole
#include <locus/core/config.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/core/error.hpp>               // shape_error
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/nn/kernels/conv2d.hpp>        // store_rule
#include <locus/nn/window.hpp>                // conv2d_geometry

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// elements of 16 bytes
template <class T>
inline constexpr int vector = sizeof(T) < 16 ? 16 / int(sizeof(T)) : 1;

/// means: arrays of rows of n elements can be read and written as vectors
template <class T, class... P>
bool are_vectors(std::int64_t n, P const*... arrays) {
  return n % vector<T> == 0 && ((reinterpret_cast<std::uintptr_t>(arrays) % 16 == 0) && ...);
}

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t at_least_1(std::int64_t n) { return n < 1 ? 1 : n; }

/// means: how many rows of that many bytes a slab has. 8192 rows are tiles of a product for every processor of
///        a large card; 32 MiB stay in its second cache; more than 64 MiB are asked for by a longer row alone
constexpr std::int64_t rows_of_slab(std::int64_t row_bytes) {
  constexpr std::int64_t few = std::int64_t(32) << 20, most = std::int64_t(64) << 20;
  std::int64_t const bytes = row_bytes * 8192;
  std::int64_t const rows = (bytes < few ? few : bytes > most ? most : bytes) / row_bytes;
  return at_least_1(rows);
}

/// means: pixels of a slab; where windows lie in x already, all that a product counts
template <class T>
std::int64_t pixels_of_slab(conv2d_geometry const& g) {
  std::int64_t const row = g.h.size * g.w.size * g.channels * std::int64_t(sizeof(T));
  return g.is_pointwise() ? std::int64_t(1) << 30 : rows_of_slab(at_least_1(row));
}

/// A window's axis in 32 bits.
struct short_axis {
  std::int32_t in, size, stride, dilation, before, out;
  explicit short_axis(window_axis const& a)
      : in(std::int32_t(a.in)), size(std::int32_t(a.size)), stride(std::int32_t(a.stride)),
        dilation(std::int32_t(a.dilation)), before(std::int32_t(a.before)),
        out(std::int32_t(a.out)) {}
};
/// means: g, whose lines, and the numbers of each, a kernel counts in 32 bits
/// fails: shape_error
inline conv2d_geometry counted(conv2d_geometry const& g) {
  constexpr std::int64_t most = std::int64_t(1) << 30;
  for (window_axis const* a : {&g.h, &g.w})
    if (a->in > most || a->span() > most || a->stride > most || g.w.in * g.channels > most)
      throw shape_error(
          "locus: a convolution over images of more than 2^30 lines, or over lines of more than "
          "2^30 numbers, is more than a GPU's kernel counts; compute it on a CPU");
  return g;
}
inline cuda_side::divider by(std::int64_t n) {
  return cuda_side::divider(static_cast<std::uint32_t>(n));
}
/// means: n / d; n becomes n % d
LOCUS_HOST_DEVICE inline std::uint32_t split(std::uint32_t& n, cuda_side::divider const& d) {
  std::uint32_t const q = d.divide(n);
  n -= q * d.by;
  return q;
}

/// Where the numbers lie that a window slides over.
struct image_places {
  short_axis h, w;
  std::uint32_t channels, each, in_one_line;  // numbers of a pixel, of a group, of a line
  std::int64_t in_one_image;

  explicit image_places(conv2d_geometry const& g)
      : h(g.h), w(g.w), channels(std::uint32_t(g.channels)),
        each(std::uint32_t(g.group_channels())), in_one_line(std::uint32_t(g.w.in * g.channels)),
        in_one_image(g.h.in * g.w.in * g.channels) {}
  LOCUS_HOST_DEVICE std::int64_t at(std::uint32_t image, std::uint32_t line,
                                    std::uint32_t column) const {
    return image * in_one_image + static_cast<std::int64_t>(std::uint64_t(line) * in_one_line) +
           column * channels;
  }
};

/// windows[pixel of the slab][group][kh][kw][channel of the group] = x, or 0 beside the image
template <class T, int Size>
struct gather_windows : image_places {
  using packet = cuda_side::vector_of<T, Size>;
  std::uint32_t line, column;  // of the slab's first pixel
  T const* x;                  // its image
  T* windows;
  cuda_side::divider in_channels, in_row, in_window, in_groups, in_line, in_image;

  gather_windows(conv2d_geometry const& g, std::int64_t first, T const* from, T* to)
      : image_places(g), line(std::uint32_t(first / g.w.out % g.h.out)),
        column(std::uint32_t(first % g.w.out)), x(from + first / g.w.out / g.h.out * in_one_image),
        windows(to), in_channels(by(each / Size)), in_row(by(g.w.size)), in_window(by(g.h.size)),
        in_groups(by(g.groups)), in_line(by(g.w.out)), in_image(by(g.h.out)) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto c = static_cast<std::uint32_t>(i);
    std::uint32_t kw = split(c, in_channels), kh = split(kw, in_row), group = split(kh, in_window),
                  ow = split(group, in_groups) + column, oh = split(ow, in_line) + line;
    std::uint32_t const image = split(oh, in_image);
    std::int32_t const ih = std::int32_t(oh) * h.stride + std::int32_t(kh) * h.dilation - h.before,
                       iw = std::int32_t(ow) * w.stride + std::int32_t(kw) * w.dilation - w.before;
    packet v;
    if (std::uint32_t(ih) < std::uint32_t(h.in) && std::uint32_t(iw) < std::uint32_t(w.in))
      v = *reinterpret_cast<packet const*>(x + at(image, std::uint32_t(ih), std::uint32_t(iw)) +
                                           group * each + c * Size);
    else
      for (int j = 0; j < Size; ++j) v.element[j] = T(0);
    cuda_side::store_whole(windows + i * Size, v);
  }
};

/// A slab of dx: `images` images, of which it has the lines [line, line + lines); it needs the lines
/// [low, high) of dy.
struct input_slab {
  std::int64_t image, images, line, lines, low, high;
};

/// dx = the sum over the windows that a pixel lies in, in the order of their elements
template <class T, int Size>
struct sum_windows : image_places {
  using packet = cuda_side::vector_of<T, Size>;
  std::int32_t row;                // numbers of a pixel's windows
  std::int32_t line, low, height;  // of dx; of dy, and how many lines of it each image has here
  T const* windows;                // as gather_windows has them, of these lines
  T* dx;                           // the slab's first image
  cuda_side::divider in_channels, in_groups, in_line, in_image, h_stride, w_stride;

  sum_windows(conv2d_geometry const& g, input_slab const& s, T const* from, T* to)
      : image_places(g), row(std::int32_t(g.h.size * g.w.size * g.channels)),
        line(std::int32_t(s.line)), low(std::int32_t(s.low)), height(std::int32_t(s.high - s.low)),
        windows(from), dx(to + s.image * in_one_image), in_channels(by(each / Size)),
        in_groups(by(g.groups)), in_line(by(g.w.in)), in_image(by(s.lines)),
        h_stride(by(g.h.stride)), w_stride(by(g.w.stride)) {}

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto c = static_cast<std::uint32_t>(i);
    std::uint32_t group = split(c, in_channels), iw = split(group, in_groups),
                  ih = split(iw, in_line);
    std::uint32_t const image = split(ih, in_image);
    ih += std::uint32_t(line);
    T const* const from = windows + group * (std::uint32_t(h.size * w.size) * each) + c * Size;
    packet sum;
    for (int j = 0; j < Size; ++j) sum.element[j] = T(0);
    for (std::int32_t kh = 0; kh < h.size; ++kh) {
      std::int32_t const oh = result(h, h_stride, ih, kh);
      if (oh < 0) continue;
      std::int32_t const pixel = (std::int32_t(image) * height + oh - low) * w.out;
      for (std::int32_t kw = 0; kw < w.size; ++kw) {
        std::int32_t const ow = result(w, w_stride, iw, kw);
        if (ow < 0) continue;
        packet const v = *reinterpret_cast<packet const*>(from + std::int64_t(pixel + ow) * row +
                                                          std::uint32_t(kh * w.size + kw) * each);
        for (int j = 0; j < Size; ++j) sum.element[j] += v.element[j];
      }
    }
    cuda_side::store_whole(dx + at(image, ih, iw) + group * each + c * Size, sum);
  }

 private:
  /// as window_axis::result
  LOCUS_HOST_DEVICE static std::int32_t result(short_axis const& a,
                                               cuda_side::divider const& stride, std::uint32_t i,
                                               std::int32_t t) {
    std::int32_t const from = std::int32_t(i) + a.before - t * a.dilation;
    if (from < 0) return -1;
    auto rest = static_cast<std::uint32_t>(from);
    auto const o = static_cast<std::int32_t>(split(rest, stride));
    return rest == 0 && o < a.out ? o : -1;
  }
};

/// y = the bounds of y + bias
template <class T, int Size>
struct finish_sums {
  using packet = cuda_side::vector_of<T, Size>;
  T* y;
  host::store_rule<T> rule;
  cuda_side::quotient in_filters;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t f = i;
    in_filters.divide(f);
    packet v = *reinterpret_cast<packet const*>(y + i * Size);
    for (int j = 0; j < Size; ++j) {
      T& e = v.element[j];
      if (rule.bias) e += rule.bias[f * Size + j];
      if (rule.clamp) e = e < rule.low ? rule.low : e > rule.high ? rule.high : e;
    }
    cuda_side::store_whole(y + i * Size, v);
  }
};

template <class T>
struct fill {
  T* to;
  T with;
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = with; }
};

/// The matrix of all windows, cut into slabs of pixels.
template <class T>
struct window_slabs {
  conv2d_geometry of;
  std::int64_t row;   // elements of the windows of a pixel
  std::int64_t rows;  // pixels of a slab

  /// slabs are multiples of `unit` pixels
  explicit window_slabs(conv2d_geometry const& g, std::int64_t unit = 1)
      : of(counted(g)), row(g.h.size * g.w.size * g.channels), rows(pixels_of_slab<T>(g)) {
    rows = rows < unit ? unit : rows / unit * unit;
    if (rows > pixels()) rows = pixels();
  }
  std::int64_t pixels() const { return of.images * of.h.out * of.w.out; }
  /// units: elements of workspace
  std::int64_t memory() const { return of.is_pointwise() ? 0 : rows * row; }
  /// from the first group's matrix to the next
  std::int64_t group_step() const { return row / of.groups; }
  /// means: f(first pixel, pixels) for each slab
  template <class F>
  void each(F const& f) const {
    for (std::int64_t first = 0; first < pixels(); first += rows)
      f(first, rows < pixels() - first ? rows : pixels() - first);
  }
  /// means: the first group's matrix of n pixels, made in `memory` unless x has it
  kernel::matrix windows(card_context& here, T const* x, T* memory, std::int64_t first,
                         std::int64_t n) const {
    T const* const from = of.is_pointwise() ? x + first * of.channels : memory;
    if (!of.is_pointwise() && row > 0) {
      if (are_vectors<T>(of.group_channels(), x, memory))
        gather<vector<T>>(here, x, memory, first, n);
      else
        gather<1>(here, x, memory, first, n);
    }
    return {const_cast<T*>(from), n, group_step(), row, 1};
  }

 private:
  template <int Size>
  void gather(card_context& here, T const* x, T* memory, std::int64_t first, std::int64_t n) const {
    here.each(n * row / Size, gather_windows<T, Size>(of, first, x, memory));
  }
};

/// the kernel's matrix of the first group: an element of the window and a channel down, filters across
template <class T>
kernel::matrix kernel_matrix(T const* kernel, conv2d_geometry const& g) {
  return {const_cast<T*>(kernel), g.h.size * g.w.size * g.group_channels(), g.group_filters(),
          g.filters, 1};
}
/// n rows of filters of the first group
template <class T>
kernel::matrix filter_rows(T const* data, std::int64_t n, conv2d_geometry const& g) {
  return {const_cast<T*>(data), n, g.group_filters(), g.filters, 1};
}

/// means: sums(first pixel) = x * kernel for the pixels of each slab, and then done(first pixel, pixels)
template <class T, class Sums, class Done>
void convolve(card_context& here, window_slabs<T> const& slabs, T const* x, T const* kernel,
              Sums const& sums, Done const& done) {
  conv2d_geometry const& g = slabs.of;
  T* const memory = here.take<T>(slabs.memory());
  slabs.each([&](std::int64_t first, std::int64_t n) {
    here.multiply<T>(filter_rows(sums(first), n, g), slabs.windows(here, x, memory, first, n),
                     kernel_matrix(kernel, g),
                     {g.groups, g.group_filters(), slabs.group_step(), g.group_filters()});
    done(first, n);
  });
}

/// means: as host::conv2d, to rounding
/// cost:  a product and, with bias or bounds, a kernel over y for each slab; windows of more than one pixel are
///        written and read once, in at most 64 MiB of workspace, or in that of one pixel's windows
template <class T>
void conv2d(card_context& here, window_slabs<T> const& slabs, T* y, T const* x, T const* kernel,
            host::store_rule<T> const& rule) {
  conv2d_geometry const& g = slabs.of;
  auto const sums = [&](std::int64_t first) { return y + first * g.filters; };
  convolve(here, slabs, x, kernel, sums, [&](std::int64_t first, std::int64_t n) {
    if (!rule.bias && !rule.clamp) return;
    auto const finish = [&]<int Size>(std::integral_constant<int, Size>) {
      std::int64_t const in_row = g.filters / Size, vectors = n * in_row;
      here.each(vectors, finish_sums<T, Size>{sums(first), rule, {in_row, vectors}});
    };
    if (are_vectors<T>(g.filters, y))
      finish(std::integral_constant<int, vector<T>>{});
    else
      finish(std::integral_constant<int, 1>{});
  });
}

/// means: as host::conv2d_kernel_gradient, to rounding, where dy(first pixel, pixels) are rows of filters; and
///        dbias = the sums of dy's columns. Either may be null
/// after: slabs follow from the shape and are added in their order. How the sums within a slab are added is
///        cuBLAS' own: one card and one version of cuBLAS give the same bits in every run
template <class T, class Gradient>
void conv_kernel_gradient(card_context& here, window_slabs<T> const& slabs, T* dkernel, T* dbias,
                          T const* x, Gradient const& dy) {
  conv2d_geometry const& g = slabs.of;
  if (slabs.pixels() == 0) {
    if (dkernel) here.each(g.kernel_size(), fill<T>{dkernel, T(0)});
    if (dbias) here.each(g.filters, fill<T>{dbias, T(0)});
    return;
  }
  T* const memory = here.take<T>(dkernel ? slabs.memory() : 0);
  T* const ones = here.take<T>(dbias ? slabs.rows : 0);
  if (dbias) here.each(slabs.rows, fill<T>{ones, T(1)});
  slabs.each([&](std::int64_t first, std::int64_t n) {
    T const* const rows = dy(first, n);
    bool const adds = first > 0;
    if (dkernel)
      here.multiply<T>(kernel_matrix(dkernel, g),
                       slabs.windows(here, x, memory, first, n).transposed(),
                       filter_rows(rows, n, g),
                       {g.groups, g.group_filters(), slabs.group_step(), g.group_filters()}, adds);
    if (dbias)
      here.multiply<T>({dbias, 1, g.filters, g.filters, 1}, {ones, 1, n, n, 1},
                       {const_cast<T*>(rows), n, g.filters, g.filters, 1}, {}, adds);
  });
}

/// How dx is cut: whole images, or lines of one, which then ask for some lines of dy twice.
template <class T>
struct input_slabs {
  conv2d_geometry of;
  std::int64_t row, images = 1, lines = 1;

  explicit input_slabs(conv2d_geometry const& g)
      : of(counted(g)), row(g.h.size * g.w.size * g.channels) {
    std::int64_t const rows = pixels_of_slab<T>(g), width = at_least_1(g.w.out),
                       pixels = at_least_1(g.h.out * width);
    // numbers of dx are counted in 32 bits
    std::int64_t const most_lines = (std::int64_t(1) << 30) / at_least_1(g.w.in * g.channels);
    if (pixels <= rows && g.h.in <= most_lines) {
      lines = g.h.in,
      images = least(g.images, least(rows / pixels, most_lines / at_least_1(g.h.in)));
      return;
    }
    std::int64_t const span = g.h.span(), wanted = (rows / width - 1) * g.h.stride - span + 2;
    // at least half of dy's lines are read once
    lines = least(g.h.in, least(most_lines, wanted > span ? wanted : span));
  }
  /// units: rows of dy that a slab needs at most
  std::int64_t rows() const {
    std::int64_t const most = (lines - 1 + of.h.span() - 1) / of.h.stride + 1;
    return images * (most < of.h.out ? most : of.h.out) * of.w.out;
  }
  std::int64_t memory() const { return of.is_pointwise() ? 0 : rows() * row; }
  template <class F>
  void each(F const& f) const {
    for (std::int64_t image = 0; image < of.images; image += images)
      for (std::int64_t line = 0; line < of.h.in; line += lines) {
        input_slab s{image, images < of.images - image ? images : of.images - image,
                     line,  lines < of.h.in - line ? lines : of.h.in - line,
                     0,     0};
        std::int64_t const before = line + of.h.before - of.h.span() + 1;
        s.low = before > 0 ? (before + of.h.stride - 1) / of.h.stride : 0;
        s.high = (line + s.lines - 1 + of.h.before) / of.h.stride + 1;
        if (s.high > of.h.out) s.high = of.h.out;
        if (s.low > s.high) s.low = s.high;
        f(s);
      }
  }
};

/// means: as host::conv2d_input_gradient, to rounding; dy as in conv_kernel_gradient
/// cost:  a product and a kernel over dx for each slab. Windows of more than one pixel are written and read once,
///        less than twice where images are cut, in at most 64 MiB of workspace, or in that of the windows of
///        2 n - 1 lines of dy, where a window reaches over n lines
template <class T, class Gradient>
void conv_input_gradient(card_context& here, input_slabs<T> const& slabs, T* dx, Gradient const& dy,
                         T const* kernel) {
  conv2d_geometry const& g = slabs.of;
  if (g.input_size() == 0) return;
  T* const memory = here.take<T>(slabs.memory());
  std::int64_t const columns = slabs.row / g.groups;
  slabs.each([&](input_slab const& s) {
    std::int64_t const first = (s.image * g.h.out + s.low) * g.w.out,
                       n = s.images * (s.high - s.low) * g.w.out;
    T* const windows = g.is_pointwise() ? dx + first * g.channels : memory;
    if (n > 0)
      here.multiply<T>({windows, n, columns, slabs.row, 1}, filter_rows(dy(first, n), n, g),
                       kernel_matrix(kernel, g).transposed(),
                       {g.groups, columns, g.group_filters(), g.group_filters()});
    if (g.is_pointwise()) return;
    auto const sum = [&]<int Size>(std::integral_constant<int, Size>) {
      here.each(s.images * s.lines * g.w.in * g.channels / Size,
                sum_windows<T, Size>(g, s, windows, dx));
    };
    if (are_vectors<T>(g.group_channels(), dx, windows))
      sum(std::integral_constant<int, vector<T>>{});
    else
      sum(std::integral_constant<int, 1>{});
  });
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
