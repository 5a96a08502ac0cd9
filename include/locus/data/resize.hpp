// SPDX-License-Identifier: Apache-2.0
// Images of another size: bilinear, with pixel centres at half integers, as TensorFlow 2 resizes.
#pragma once
#include <type_traits>  // conditional, is_same
#include <vector>       // vector

#include <locus/core/error.hpp>           // shape_error
#include <locus/core/macros.hpp>          // LOCUS_KEEP_APART
#include <locus/runtime/threads.hpp>      // parallel_for
#include <locus/shape/element.hpp>        // is_floating_v
#include <locus/tensor/in_row_order.hpp>  // in_row_order
#include <locus/tensor/tensor.hpp>        // Tensor

namespace locus::data {

namespace detail {

/// the two source indices of a result index along an axis, and their weights
struct between {
  std::int64_t below, above;
  float share;  // of `above`
};
/// after: tf.image.resize: source = (result + 0.5) * in / out - 0.5, clamped to the ends, no
///        antialiasing
inline std::vector<between> places_between(std::int64_t in, std::int64_t out) {
  std::vector<between> all(static_cast<std::size_t>(out));
  float const scale = static_cast<float>(in) / static_cast<float>(out);
  for (std::int64_t i = 0; i < out; ++i) {
    float at = (static_cast<float>(i) + 0.5f) * scale;
    LOCUS_KEEP_APART(at);  // two roundings on every processor
    at -= 0.5f;
    float const floor = __builtin_floorf(at);
    auto const k = static_cast<std::int64_t>(floor);
    all[static_cast<std::size_t>(i)] = {k < 0 ? 0 : k, k + 1 < in ? k + 1 : in - 1, at - floor};
  }
  return all;
}

}  // namespace detail

/// means: the element type of resized images: floating types stay, all others become float
template <class T>
using resized_t = std::conditional_t<is_floating_v<T>, T, float>;

/// means: to[n,y,x,c] = the images sampled at (y, x) of a grid of to_rows x to_columns over the
///        same area
/// shape: (images, rows, columns, channels) -> (images, to_rows, to_columns, channels), row order
/// cost:  four loads for each result; images share the threads
/// after: tf.image.resize(images, size, 'bilinear') of TensorFlow 2
template <class T>
void resize_bilinear(resized_t<T>* to, T const* from, std::int64_t images, std::int64_t rows,
                     std::int64_t columns, std::int64_t channels, std::int64_t to_rows,
                     std::int64_t to_columns) {
  using R = resized_t<T>;
  auto const down = detail::places_between(rows, to_rows);
  auto const across = detail::places_between(columns, to_columns);
  std::int64_t const all = images * to_rows;
  int const threads = all * to_columns * channels < (1 << 16) ? 1 : thread_count();
  std::int64_t const lines = to_rows < 32 ? to_rows : 32, parts = (to_rows + lines - 1) / lines;
  if (all == 0) return;
  parallel_for(images * parts, threads, [&](std::int64_t task) {
    std::int64_t const n = task / parts, first = task % parts * lines;
    std::int64_t const end = first + lines < to_rows ? first + lines : to_rows;
    for (std::int64_t y = first; y < end; ++y) {
      detail::between const v = down[static_cast<std::size_t>(y)];
      T const* const above = from + (n * rows + v.below) * columns * channels;
      T const* const below = from + (n * rows + v.above) * columns * channels;
      R* p = to + (n * to_rows + y) * to_columns * channels;
      R const down_share = static_cast<R>(v.share);
      for (std::int64_t x = 0; x < to_columns; ++x) {
        detail::between const h = across[static_cast<std::size_t>(x)];
        std::int64_t const left = h.below * channels, right = h.above * channels;
        R const share = static_cast<R>(h.share);
        for (std::int64_t c = 0; c < channels; ++c, ++p) {
          R const a = static_cast<R>(above[left + c]), b = static_cast<R>(above[right + c]);
          R const d = static_cast<R>(below[left + c]), e = static_cast<R>(below[right + c]);
          R const top = a + (b - a) * share, bottom = d + (e - d) * share;
          *p = top + (bottom - top) * down_share;
        }
      }
    }
  });
}

/// means: images of rows x columns pixels: resize(batch, 224, 224); of a tensor, or of an image in
///        a dataset's map
/// shape: (H, W, C) -> (rows, columns, C), or a batch of them
/// device: the host
/// cost:  one pass; images that do not lie in row order are copied first
/// fails: shape_error for images or results without pixels; at compile time, for images on a GPU
template <class Images>
  requires(Images::rank() == 3 || Images::rank() == 4)
auto resize(Images const& images, std::int64_t rows, std::int64_t columns) {
  using T = typename Images::value_type;
  if constexpr (requires { typename Images::policy; })
    static_assert(std::is_same_v<typename Images::policy, CpuDevice>,
                  "locus: data::resize reads images on the host; write resize(fetch(images), rows, "
                  "columns)");
  constexpr int rank = Images::rank(), first = rank - 3;
  std::int64_t const n = first ? images.extent(0) : 1;
  std::int64_t const h = images.extent(first), w = images.extent(first + 1),
                     c = images.extent(first + 2);
  if (rows < 1 || columns < 1 || h < 1 || w < 1) {
    message text;
    throw shape_error(text << "locus: data::resize makes " << rows << " x " << columns
                           << " pixels of images of " << h << " x " << w
                           << "; both have at least one");
  }
  shape s{rank, {}};
  if (first) s.extent[0] = n;
  s.extent[first] = rows, s.extent[first + 1] = columns, s.extent[first + 2] = c;
  Tensor<resized_t<T>, Dextents<rank>> to{Dextents<rank>(s)};
  decltype(auto) from = internal::in_row_order(images);
  resize_bilinear<T>(to.data(), from.data(), n, h, w, c, rows, columns);
  return to;
}

}  // namespace locus::data
