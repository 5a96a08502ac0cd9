// SPDX-License-Identifier: Apache-2.0
// Pools of images on the host, forward and backward: registers run over channels. Elements of a
// window outside of the image are ignored: they are no candidates of a maximum and do not count in
// a mean.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_NN_KERNELS_POOL2D)
#define LOCUS_NN_KERNELS_POOL2D
#include <locus/nn/kernels/window.hpp>  // pool_geometry
#include <locus/runtime/threads.hpp>    // parallel_for
#include <locus/simd/packet.hpp>        // packet

namespace locus::nn::host {
inline namespace LOCUS_MODE {

namespace detail {

/// the elements [begin, end) of a window that lie in the image
struct tap_range {
  std::int64_t begin, end;
};
constexpr tap_range taps_inside(window_axis const& a, std::int64_t o) {
  std::int64_t const from = a.input(o, 0);
  std::int64_t const begin = from < 0 ? -from : 0;
  return {begin, a.in - from < a.size ? a.in - from : a.size};
}
/// the number of threads for a kernel that reads or writes n numbers
inline int threads_for_numbers(std::int64_t n) {
  return threads_worth(static_cast<float>(n) * 0.1f);  // nanoseconds
}

}  // namespace detail

}  // namespace LOCUS_MODE
}  // namespace locus::nn::host

#define LOCUS_CLONED <locus/nn/kernels/pool2d.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(nn::host) {

namespace detail {

inline constexpr int pool_bytes = simd::native_bytes;

/// means: x replaces best: it is larger, or the first NaN
template <class T, int N>
LOCUS_VECTOR_FUNCTION auto beats(simd::packet<T, N> x, simd::packet<T, N> best) {
  auto const greater = simd::greater(x, best);
  auto const first_nan = simd::not_equal(x, x).v & simd::equal(best, best).v;
  return decltype(greater){greater.v | first_nan};
}
/// means: y, winner = the maximum and its place, for N channels of one result
template <int N, class T, class Winner>
LOCUS_VECTOR_FUNCTION void max_of_window(T* y, Winner* winner, T const* x, tap_range h, tap_range w,
                                         std::int64_t row, std::int64_t column,
                                         std::int64_t width) {
  using index = simd::signed_of<int(sizeof(T))>;
  auto best = simd::load<N>(x + h.begin * row + w.begin * column);
  auto at = simd::broadcast<N>(static_cast<index>(h.begin * width + w.begin));
  for (std::int64_t a = h.begin; a < h.end; ++a)
    for (std::int64_t b = w.begin; b < w.end; ++b) {
      auto const v = simd::load<N>(x + a * row + b * column);
      auto const m = beats(v, best);
      best = simd::select(m, v, best);
      at = simd::select(m, simd::broadcast<N>(static_cast<index>(a * width + b)), at);
    }
  simd::store(y, best);
  if (winner) simd::store(winner, simd::convert<Winner>(at));
}

/// means: run<N>(c) for each whole register of channels, then run<1>(c) for each channel behind
///        them
template <int N, class Run>
LOCUS_VECTOR_FUNCTION void over_channels(std::int64_t channels, Run const& run) {
  std::int64_t c = 0;
  for (; c + N <= channels; c += N) run.template operator()<N>(c);
  for (; c < channels; ++c) run.template operator()<1>(c);
}

}  // namespace detail

/// means: y = the largest number of each window, winner = its place kh * KW + kw, the first of
///        several (null: not stored); a NaN wins
template <class T, class Winner>
void max_pool2d(T* y, Winner* winner, T const* x, pool_geometry const& g) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  std::int64_t const column = g.channels, row = g.w.in * g.channels;
  int const threads = detail::threads_for_numbers(g.output_size() * g.h.size * g.w.size);
  parallel_for(g.images * g.h.out, threads, [&](std::int64_t line) {
    std::int64_t const image = line / g.h.out, oh = line % g.h.out;
    detail::tap_range const h = detail::taps_inside(g.h, oh);
    for (std::int64_t ow = 0; ow < g.w.out; ++ow) {
      detail::tap_range const w = detail::taps_inside(g.w, ow);
      T const* const from =
          x + (image * g.h.in + g.h.input(oh, 0)) * row + g.w.input(ow, 0) * column;
      std::int64_t const to = (line * g.w.out + ow) * g.channels;
      detail::over_channels<N>(g.channels, [&]<int M>(std::int64_t c) {
        detail::max_of_window<M>(y + to + c, winner ? winner + to + c : nullptr, from + c, h, w,
                                 row, column, g.w.size);
      });
    }
  });
}

/// means: dx[i] = the sum of dy of the windows whose winner is input i
template <class T, class Winner>
void max_pool2d_gradient(T* dx, T const* dy, Winner const* winner, pool_geometry const& g) {
  std::int64_t const row = g.w.in * g.channels;
  int const threads = detail::threads_for_numbers(g.input_size() + g.output_size());
  parallel_for(g.images, threads, [&](std::int64_t image) {
    T* const to = dx + image * g.h.in * row;
    __builtin_memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(g.h.in * row));
    std::int64_t from = image * g.h.out * g.w.out * g.channels;
    for (std::int64_t oh = 0; oh < g.h.out; ++oh)
      for (std::int64_t ow = 0; ow < g.w.out; ++ow)
        for (std::int64_t c = 0; c < g.channels; ++c, ++from) {
          std::int64_t const a = winner[from] / g.w.size, b = winner[from] % g.w.size;
          to[g.h.input(oh, a) * row + g.w.input(ow, b) * g.channels + c] += dy[from];
        }
  });
}

/// means: y = the mean over the pixels of each window that lie in the image
template <class T>
void average_pool2d(T* y, T const* x, pool_geometry const& g) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  std::int64_t const column = g.channels, row = g.w.in * g.channels;
  int const threads = detail::threads_for_numbers(g.output_size() * g.h.size * g.w.size);
  parallel_for(g.images * g.h.out, threads, [&](std::int64_t line) {
    std::int64_t const image = line / g.h.out, oh = line % g.h.out;
    detail::tap_range const h = detail::taps_inside(g.h, oh);
    for (std::int64_t ow = 0; ow < g.w.out; ++ow) {
      detail::tap_range const w = detail::taps_inside(g.w, ow);
      T const* const from =
          x + (image * g.h.in + g.h.input(oh, 0)) * row + g.w.input(ow, 0) * column;
      T* const to = y + (line * g.w.out + ow) * g.channels;
      T const count = static_cast<T>((h.end - h.begin) * (w.end - w.begin));
      detail::over_channels<N>(g.channels, [&]<int M>(std::int64_t c) {
        auto sum = simd::broadcast<M>(T(0));
        for (std::int64_t a = h.begin; a < h.end; ++a)
          for (std::int64_t b = w.begin; b < w.end; ++b)
            sum = simd::add(sum, simd::load<M>(from + a * row + b * column + c));
        simd::store(to + c, simd::divide(sum, simd::broadcast<M>(count)));
      });
    }
  });
}

/// means: dx[i] = the sum of dy[o] / (pixels of window o in the image) over the windows o that
///        contain input i
template <class T>
void average_pool2d_gradient(T* dx, T const* dy, pool_geometry const& g) {
  constexpr int N = detail::pool_bytes / int(sizeof(T));
  std::int64_t const row = g.w.in * g.channels;
  int const threads = detail::threads_for_numbers(g.input_size() + g.output_size());
  parallel_for(g.images, threads, [&](std::int64_t image) {
    T* const to = dx + image * g.h.in * row;
    __builtin_memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(g.h.in * row));
    T const* from = dy + image * g.h.out * g.w.out * g.channels;
    for (std::int64_t oh = 0; oh < g.h.out; ++oh)
      for (std::int64_t ow = 0; ow < g.w.out; ++ow, from += g.channels) {
        detail::tap_range const h = detail::taps_inside(g.h, oh), w = detail::taps_inside(g.w, ow);
        T const count = static_cast<T>((h.end - h.begin) * (w.end - w.begin));
        detail::over_channels<N>(g.channels, [&]<int M>(std::int64_t c) {
          auto const share = simd::divide(simd::load<M>(from + c), simd::broadcast<M>(count));
          for (std::int64_t a = h.begin; a < h.end; ++a)
            for (std::int64_t b = w.begin; b < w.end; ++b) {
              T* const p = to + g.h.input(oh, a) * row + g.w.input(ow, b) * g.channels + c;
              simd::store(p, simd::add(simd::load<M>(p), share));
            }
        });
      }
  });
}

}  // namespace LOCUS_SPACE(nn::host)
LOCUS_VECTORS_END
#endif
