// SPDX-License-Identifier: Apache-2.0
// Convolutions on a GPU by cuDNN, over slabs of whole images. cuDNN pads an axis with as many zeros
// behind as in front, and takes the kernel with channels last: where that does not fit, copies of
// the images in a frame of zeros lie in workspace, and so does the transposed kernel.
#pragma once
#include <cstddef>  // size_t
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient
#include <locus/nn/kernels/window.hpp>        // conv_geometry
#include <locus/runtime/variables.hpp>        // cudnn_said
#include <locus/shape/element.hpp>            // element_of_v

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

using runtime::convolution_result;

/// means: to (columns, rows) = from (rows, columns), transposed; a thread for each number of `to`
template <class T>
struct turn {
  T const* from;
  T* to;
  std::int64_t columns;
  cuda_side::quotient rows;

  turn(T const* a, T* b, std::int64_t down, std::int64_t across)
      : from(a), to(b), columns(across), rows(down, down * across) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t row = i;
    std::int64_t const column = rows.divide(row);
    to[i] = from[row * columns + column];
  }
};

/// An image with a border: its lines and columns [-before, -before + size); zeros outside of the
/// image.
struct frame {
  std::int64_t rows = 0, columns = 0;  // 0: the image itself

  explicit operator bool() const { return rows > 0; }
  static constexpr std::int64_t reach(window_axis const& a) {
    return (a.out - 1) * a.stride + a.span();
  }
  /// means: with as many zeros behind the axis as in front, the results are the same
  static constexpr bool is_even(window_axis const& a) {
    return a.before < a.span() && a.in + 2 * a.before >= a.span() &&
           (a.in + 2 * a.before - a.span()) / a.stride + 1 == a.out;
  }
};

/// means: to = images that are cut from larger images, or set into larger images of zeros; `down`
///        lines and `across` columns lie between the beginnings of both
template <class T>
struct set_images {
  T const* from;
  T* to;
  std::int64_t from_rows, from_columns, channels, down, across;
  cuda_side::quotient in_pixel, in_line, in_image;

  set_images(T const* a, std::int64_t a_rows, std::int64_t a_columns, T* b, std::int64_t images,
             std::int64_t rows, std::int64_t columns, std::int64_t each, std::int64_t lines_off,
             std::int64_t columns_off)
      : from(a), to(b), from_rows(a_rows), from_columns(a_columns), channels(each), down(lines_off),
        across(columns_off), in_pixel(each, images * rows * columns * each),
        in_line(columns, images * rows * columns), in_image(rows, images * rows) {}
  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t c = i;
    std::int64_t column = in_pixel.divide(c), row = in_line.divide(column);
    std::int64_t const image = in_image.divide(row);
    row += down, column += across;
    bool const inside = row >= 0 && row < from_rows && column >= 0 && column < from_columns;
    to[i] =
        inside ? from[((image * from_rows + row) * from_columns + column) * channels + c] : T(0);
  }
};

/// true: cuDNN computes it sooner than products of cuBLAS do, or the program names a cuDNN, and so asks for it
/// after: bench/results/2026-11-26-gpu.md, convolutions: ten shapes of fp32 on an H200
inline bool cudnn_suits(convolution_result result, conv_geometry const& g) {
  return runtime::cudnn_said() ||
         (result == convolution_result::y && g.channels > 1 && g.h.out * g.w.out >= 28 * 28);
}

/// One result of a convolution by cuDNN, if cuDNN computes it.
template <class T>
class conv_cudnn {
 public:
  /// means: asks cuDNN for an algorithm, and takes its workspace. `kept`: numbers that the caller
  ///        keeps for each image. A slab has at most `bytes_of_slab` bytes of these numbers and of
  ///        frames, but at least one image. Windows of one pixel are a product already, and cuDNN
  ///        is not asked, nor where it does not suit
  conv_cudnn(card_context& here, convolution_result result, conv_geometry const& g,
             std::int64_t kept = 0, std::int64_t bytes_of_slab = std::int64_t(64) << 20)
      : here_(here), of_(g), most_bytes_(bytes_of_slab) {
    if (g.is_pointwise() || g.is_depthwise() || g.input_size() == 0 || g.output_size() == 0) return;
    if (!cudnn_suits(result, g)) return;
    if (!frame::is_even(g.h) || !frame::is_even(g.w))
      frame_ = {frame::reach(g.h), frame::reach(g.w)};
    if (!cut(kept)) return;
    what_.result = result;
    what_.images = int(images_), what_.channels = int(g.channels), what_.filters = int(g.filters);
    what_.groups = int(g.groups);
    what_.h = axis(g.h, frame_.rows), what_.w = axis(g.w, frame_.columns);
    if (!here.asks_cudnn<T>(what_, choice_)) return;
    asked_ = true;
    workspace_ = here.take<char>(std::int64_t(choice_.workspace));
    kernel_ = here.take<T>(g.kernel_size());
    framed_ = here.take<T>(frame_ ? images_ * image() : 0);
  }

  explicit operator bool() const { return asked_; }
  /// means: cuDNN may refuse a call: it has not computed this convolution before, or is not asked
  ///        at all
  bool may_refuse() const { return !asked_ || !choice_.was_computed; }
  /// the pixels of a slab; 0, if cuDNN is not asked
  std::int64_t pixels() const { return asked_ ? images_ * of_.h.out * of_.w.out : 0; }

  /// means: rows(first pixel) = x * kernel for each slab, and then done(first pixel, pixels); false: cuDNN refused a
  ///        slab, and the caller computes all of them
  template <class Rows, class Done>
  bool convolve(T const* x, T const* kernel, Rows const& rows, Done const& done) {
    if (!asked_) return false;
    turn_in(kernel);
    return each([&](std::int64_t image, std::int64_t first) {
      if (!call(input(x, image), kernel_, rows(first), false)) return false;
      done(first, pixels());
      return true;
    });
  }
  /// means: dkernel = the sums over all slabs, whose rows are dy(first pixel, pixels); calls
  ///        done(rows, first pixel, pixels) after each slab; false: as convolve
  template <class Gradient, class Done>
  bool kernel_gradient(T* dkernel, T const* x, Gradient const& dy, Done const& done) {
    if (!asked_) return false;
    bool const is_done = each([&](std::int64_t image, std::int64_t first) {
      T const* const rows = dy(first, pixels());
      if (!call(input(x, image), rows, kernel_, first > 0)) return false;
      done(rows, first, pixels());
      return true;
    });
    if (is_done) here_.each(of_.kernel_size(), turn<T>(kernel_, dkernel, of_.filters, taps()));
    return is_done;
  }
  /// means: dx, from dy as in kernel_gradient; false: as convolve
  template <class Gradient>
  bool input_gradient(T* dx, Gradient const& dy, T const* kernel) {
    if (!asked_) return false;
    turn_in(kernel);
    return each([&](std::int64_t image, std::int64_t first) {
      T* const to = dx + image * one_input();
      if (!call(kernel_, dy(first, pixels()), frame_ ? framed_ : to, false)) return false;
      if (frame_)
        here_.each(images_ * one_input(),
                   set_images<T>(framed_, frame_.rows, frame_.columns, to, images_, of_.h.in,
                                 of_.w.in, of_.channels, of_.h.before, of_.w.before));
      return true;
    });
  }

 private:
  static constexpr std::int64_t most_numbers = INT32_MAX;

  static runtime::cuda_convolution::axis axis(window_axis const& a, std::int64_t framed) {
    return {int(framed > 0 ? framed : a.in), int(a.size), int(a.stride), int(a.dilation),
            int(framed > 0 ? 0 : a.before),  int(a.out)};
  }
  std::int64_t one_input() const { return of_.h.in * of_.w.in * of_.channels; }
  std::int64_t one_output() const { return of_.h.out * of_.w.out * of_.filters; }
  /// units: numbers of an image with its frame
  std::int64_t image() const {
    return frame_ ? frame_.rows * frame_.columns * of_.channels : one_input();
  }
  /// units: numbers of a filter
  std::int64_t taps() const { return of_.h.size * of_.w.size * of_.group_channels(); }

  /// means: sets the images of a slab: as many as fit, the same number in each slab; false: a slab
  ///        has more numbers than cuDNN counts, begins at no multiple of 16 bytes, or has less than
  ///        a quarter of the images that fit, as with 127 images of which 110 fit
  bool cut(std::int64_t kept) {
    std::int64_t const largest = image() > one_output() ? image() : one_output(),
                       bytes = (kept + (frame_ ? image() : 0)) * std::int64_t(sizeof(T));
    std::int64_t wanted = of_.images;
    if (bytes > 0 && wanted > most_bytes_ / bytes) wanted = most_bytes_ / bytes;
    if (wanted > most_numbers / largest) wanted = most_numbers / largest;
    if (wanted < 1) wanted = 1;
    if (largest > most_numbers || of_.kernel_size() > most_numbers) return false;
    for (images_ = wanted; of_.images % images_ != 0;) --images_;
    if (images_ * 4 < wanted) return false;
    auto const is_aligned = [&](std::int64_t n) {
      return images_ * n * std::int64_t(sizeof(T)) % 16 == 0;
    };
    return images_ == of_.images || (is_aligned(one_input()) && is_aligned(one_output()));
  }
  /// means: f(first image, first pixel) for each slab, until f returns false
  template <class F>
  bool each(F const& f) const {
    for (std::int64_t image = 0; image < of_.images; image += images_)
      if (!f(image, image * of_.h.out * of_.w.out)) return false;
    return true;
  }
  void turn_in(T const* kernel) const {
    here_.each(of_.kernel_size(), turn<T>(kernel, kernel_, taps(), of_.filters));
  }
  T const* input(T const* x, std::int64_t image_number) const {
    T const* const from = x + image_number * one_input();
    if (!frame_) return from;
    here_.each(images_ * image(),
               set_images<T>(from, of_.h.in, of_.w.in, framed_, images_, frame_.rows,
                             frame_.columns, of_.channels, -of_.h.before, -of_.w.before));
    return framed_;
  }
  bool call(T const* a, T const* b, T* result, bool adds) const {
    auto const begins_16 = [](void const* p) {
      return reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
    };
    if (!begins_16(a) || !begins_16(b) || !begins_16(result)) return false;
    return here_.convolve(what_, {a, b, result, adds, nullptr, workspace_, choice_.workspace});
  }

  card_context& here_;
  conv_geometry of_;
  frame frame_;
  std::int64_t most_bytes_, images_ = 0;
  runtime::cuda_convolution what_;
  bool asked_ = false;
  runtime::cuda_convolution_choice choice_;
  char* workspace_ = nullptr;
  T *kernel_ = nullptr, *framed_ = nullptr;
};

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
