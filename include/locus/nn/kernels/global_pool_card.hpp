// SPDX-License-Identifier: Apache-2.0
// The gradient of a maximum over whole images on a GPU: first the share of each channel, then the
// slopes. A thread has 16 bytes of channels of one pixel if all such vectors begin at multiples of
// 16 bytes, else one channel.
#pragma once
#include <type_traits>  // integral_constant

#include <locus/core/macros.hpp>              // LOCUS_HOST_DEVICE, LOCUS_MODE
#include <locus/engine/gpu/card_context.hpp>  // card_context
#include <locus/engine/gpu/lines.hpp>         // quotient
#include <locus/engine/gpu/vectors.hpp>       // vector_of, with_vectors, store_whole
#include <locus/nn/kernels/pool_best.hpp>     // is_largest

namespace locus::nn::cards {
inline namespace LOCUS_MODE {

/// Vector i of the shares: dy / the number of pixels of the image that have the largest number of
/// the channel.
template <class T, int Size>
struct shares_of_largest {
  using vector = cuda_side::vector_of<T, Size>;
  std::int64_t pixels;
  cuda_side::quotient wide;  // vectors of a pixel
  T const *x, *y, *dy;
  T* shares;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t c = i;
    std::int64_t const image = wide.divide(c);
    auto const* from = reinterpret_cast<vector const*>(x) + image * pixels * wide.wide + c;
    vector const best = reinterpret_cast<vector const*>(y)[i];
    std::int64_t count[Size] = {};
    for (std::int64_t p = 0; p < pixels; ++p, from += wide.wide) {
      vector const v = *from;
      for (int j = 0; j < Size; ++j)
        count[j] += nn::detail::is_largest(v.element[j], best.element[j]);
    }
    vector d = reinterpret_cast<vector const*>(dy)[i];
    for (int j = 0; j < Size; ++j) d.element[j] = d.element[j] / static_cast<T>(count[j]);
    cuda_side::store_whole(shares + i * Size, d);
  }
};
/// Vector i of dx: x is the largest number ? its share : 0.
template <class T, int Size>
struct slopes_of_largest {
  using vector = cuda_side::vector_of<T, Size>;
  cuda_side::quotient wide, pixels;  // vectors of a pixel; of an image
  T const *x, *y, *shares;
  T* dx;

  LOCUS_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t c = i, pixel = wide.divide(c);
    std::int64_t const at = pixels.divide(pixel) * wide.wide + c;
    vector v = reinterpret_cast<vector const*>(x)[i];
    vector const best = reinterpret_cast<vector const*>(y)[at],
                 share = reinterpret_cast<vector const*>(shares)[at];
    for (int j = 0; j < Size; ++j)
      v.element[j] =
          nn::detail::is_largest(v.element[j], best.element[j]) ? share.element[j] : T(0);
    cuda_side::store_whole(dx + i * Size, v);
  }
};

/// means: as global_max_gradient_op's host body, bit for bit
/// shape: x, dx (images, pixels, channels); y, dy (images, channels)
/// cost:  reads x twice
template <class T>
void global_max_gradient(card_context& here, std::int64_t images, std::int64_t pixels,
                         std::int64_t channels, T const* x, T const* y, T const* dy, T* dx) {
  T* const shares = here.take<T>(images * channels);
  if (images * pixels * channels == 0) return;
  auto const run = [&]<int Size>(std::integral_constant<int, Size>) {
    std::int64_t const wide = channels / Size, all = images * wide;
    here.each(all, shares_of_largest<T, Size>{pixels, {wide, all}, x, y, dy, shares});
    here.each(all * pixels, slopes_of_largest<T, Size>{
                                {wide, all * pixels}, {pixels, all * pixels}, x, y, shares, dx});
  };
  cuda_side::with_vectors(channels, run, x, y, dy, shares, dx);
}

}  // namespace LOCUS_MODE
}  // namespace locus::nn::cards
