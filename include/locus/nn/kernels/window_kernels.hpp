// SPDX-License-Identifier: Apache-2.0
// The windows of a convolution on a GPU: one kernel copies them into a matrix, one sums them back
// into an image. Both count lines, and the numbers of a line, in 32 bits.
#pragma once
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>         // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/inputs.hpp>   // divider
#include <locus/engine/gpu/vectors.hpp>  // vector_of, store_whole
#include <locus/nn/kernels/window.hpp>   // conv_geometry, window_axis

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// A window's axis in 32 bits.
struct short_axis {
  std::int32_t in, size, stride, dilation, before, out;
  explicit short_axis(window_axis const& a)
      : in(std::int32_t(a.in)), size(std::int32_t(a.size)), stride(std::int32_t(a.stride)),
        dilation(std::int32_t(a.dilation)), before(std::int32_t(a.before)),
        out(std::int32_t(a.out)) {}
};
inline cuda_side::divider divider_of(std::int64_t n) {
  return cuda_side::divider(static_cast<std::uint32_t>(n));
}
/// means: returns n / d; sets n = n % d
LOCUS_HOST_DEVICE inline std::uint32_t divide(std::uint32_t& n, cuda_side::divider const& d) {
  std::uint32_t const q = d.divide(n);
  n -= q * d.by;
  return q;
}

/// The extents and steps of the images that a window slides over.
struct image_places {
  short_axis h, w;
  std::uint32_t channels, each, in_one_line;  // numbers of a pixel, of a group, of a line
  std::int64_t in_one_image;

  explicit image_places(conv_geometry const& g)
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

  gather_windows(conv_geometry const& g, std::int64_t first, T const* from, T* to)
      : image_places(g), line(std::uint32_t(first / g.w.out % g.h.out)),
        column(std::uint32_t(first % g.w.out)), x(from + first / g.w.out / g.h.out * in_one_image),
        windows(to), in_channels(divider_of(each / Size)), in_row(divider_of(g.w.size)),
        in_window(divider_of(g.h.size)), in_groups(divider_of(g.groups)),
        in_line(divider_of(g.w.out)), in_image(divider_of(g.h.out)) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto c = static_cast<std::uint32_t>(i);
    std::uint32_t kw = divide(c, in_channels), kh = divide(kw, in_row),
                  group = divide(kh, in_window), ow = divide(group, in_groups) + column,
                  oh = divide(ow, in_line) + line;
    std::uint32_t const image = divide(oh, in_image);
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

/// A slab of dx: lines [line, line + lines) of each of `images` images; its gradient reads the
/// lines [low, high) of dy.
struct input_slab {
  std::int64_t image, images, line, lines, low, high;
};

/// dx of a pixel = the sum over the windows that contain the pixel, in the order of the windows'
/// elements
template <class T, int Size>
struct sum_windows : image_places {
  using packet = cuda_side::vector_of<T, Size>;
  std::int32_t row;                // numbers of a pixel's windows
  std::int32_t line, low, height;  // first line of dx; first line of dy, and its lines in an image
  T const* windows;                // of these lines, in the layout of gather_windows
  T* dx;                           // the slab's first image
  cuda_side::divider in_channels, in_groups, in_line, in_image, h_stride, w_stride;

  sum_windows(conv_geometry const& g, input_slab const& s, T const* from, T* to)
      : image_places(g), row(std::int32_t(g.h.size * g.w.size * g.channels)),
        line(std::int32_t(s.line)), low(std::int32_t(s.low)), height(std::int32_t(s.high - s.low)),
        windows(from), dx(to + s.image * in_one_image), in_channels(divider_of(each / Size)),
        in_groups(divider_of(g.groups)), in_line(divider_of(g.w.in)), in_image(divider_of(s.lines)),
        h_stride(divider_of(g.h.stride)), w_stride(divider_of(g.w.stride)) {}

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    auto c = static_cast<std::uint32_t>(i);
    std::uint32_t group = divide(c, in_channels), iw = divide(group, in_groups),
                  ih = divide(iw, in_line);
    std::uint32_t const image = divide(ih, in_image);
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
    auto const o = static_cast<std::int32_t>(divide(rest, stride));
    return rest == 0 && o < a.out ? o : -1;
  }
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
