// SPDX-License-Identifier: Apache-2.0
// The passes of a transform on the host.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_FFT_PASSES)
#define LOCUS_FFT_PASSES
#include <locus/fft/butterflies.hpp>    // fft_butterfly
#include <locus/fft/factors.hpp>        // pass_list, split_numbers
#include <locus/simd/instructions.hpp>  // LOCUS_CHOSEN

#define LOCUS_CLONED <locus/fft/passes.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

using fourier::split_numbers;

namespace detail {

/// means: y[q + s (factor p + k)] = the numbers k of the transforms of x[q + s (p + m j)], times
///        the roots (p, k)
/// shape: Factor 0: an odd one of the pass. N columns q at once, or, without columns, N numbers p
template <class T, int Factor>
struct fft_pass {
  fourier::pass const& step;
  T const* numbers;
  split_numbers<T> x, y;

  static constexpr int room = Factor == 0 ? fourier::largest_factor : Factor;
  LOCUS_VECTOR_FUNCTION int factor() const { return Factor == 0 ? step.factor : Factor; }
  /// f(k) for k in [begin, factor)
  template <class F>
  LOCUS_VECTOR_FUNCTION void each(int begin, F const& f) const {
    if constexpr (Factor == 0)
      for (int k = begin; k < step.factor; ++k) f(k);
    else
      LOCUS_UNROLL for (int k = begin; k < Factor; ++k) f(k);
  }
  template <class V>
  LOCUS_VECTOR_FUNCTION void load(V* r, V* i, std::int64_t at, std::int64_t stride) const {
    if (factor() < 2) __builtin_unreachable();  // g++ sees that r and i are set
    each(0, [&](int j) __attribute__((always_inline)) {
      r[j] = fft_load<V>(x.re + at + j * stride);
      i[j] = fft_load<V>(x.im + at + j * stride);
    });
    if constexpr (Factor == 0)
      fft_odd_butterfly(step.factor, r, i, numbers + step.constants);
    else
      fft_butterfly<Factor>(r, i, numbers + step.constants);
  }
  template <class V, class W>
  LOCUS_VECTOR_FUNCTION static void turn(V& r, V& i, W const& c, W const& s) {
    V const was = r;
    r = was * c - i * s;
    i = was * s + i * c;
  }

  /// columns [begin, end) of s at number p
  template <int N, bool Roots>
  LOCUS_VECTOR_FUNCTION std::int64_t columns(std::int64_t p, std::int64_t begin, std::int64_t s,
                                             T const* c, T const* w) const {
    using V = fft_lanes_t<T, N>;
    std::int64_t q = begin;
    for (; q + N <= s; q += N) {
      V r[room], i[room];
      load(r, i, q + s * p, s * step.m);
      each(0, [&](int k) __attribute__((always_inline)) {
        if (Roots && k > 0) turn(r[k], i[k], c[k], w[k]);
        std::int64_t const to = q + s * (factor() * p + k);
        fft_store(y.re + to, r[k]), fft_store(y.im + to, i[k]);
      });
    }
    return q;
  }
  template <bool Roots>
  LOCUS_VECTOR_FUNCTION void all_columns(std::int64_t p, std::int64_t s, T const* c,
                                         T const* w) const {
    constexpr int most = simd::native_bytes / int(sizeof(T));
    std::int64_t q = columns<most, Roots>(p, 0, s, c, w);
    if constexpr (most > 8) q = columns<8, Roots>(p, q, s, c, w);
    if constexpr (most > 4) q = columns<4, Roots>(p, q, s, c, w);
    columns<1, Roots>(p, q, s, c, w);
  }
  LOCUS_VECTOR_FUNCTION void number(std::int64_t p, std::int64_t s) const {
    T c[room], w[room];
    c[0] = 1, w[0] = 0;
    each(1, [&](int k) __attribute__((always_inline)) {
      T const* const of = numbers + step.roots + (k - 1) * step.m + p;
      c[k] = of[0], w[k] = of[(factor() - 1) * step.m];
    });
    all_columns<true>(p, s, c, w);
  }
  /// N numbers p of one column
  template <int N>
  LOCUS_VECTOR_FUNCTION std::int64_t numbers_at_once(std::int64_t p) const {
    using V = fft_lanes_t<T, N>;
    for (; p + N <= step.m; p += N) {
      V r[room], i[room];
      load(r, i, p, step.m);
      each(1, [&](int k) __attribute__((always_inline)) {
        T const* const of = numbers + step.roots + (k - 1) * step.m + p;
        turn(r[k], i[k], fft_load<V>(of), fft_load<V>(of + (factor() - 1) * step.m));
      });
      T *const re = y.re + factor() * p, *const im = y.im + factor() * p;
      if constexpr (Factor == 2 || Factor == 4 || Factor == 8) {
        fft_interleave<Factor, N>(r);
        fft_interleave<Factor, N>(i);
        for (int k = 0; k < factor(); ++k) fft_store(re + k * N, r[k]), fft_store(im + k * N, i[k]);
      } else
        for (int k = 0; k < factor(); ++k)
          for (int lane = 0; lane < N; ++lane) {
            re[lane * factor() + k] = r[k][lane];
            im[lane * factor() + k] = i[k][lane];
          }
    }
    return p;
  }
  void run(std::int64_t lanes) const {
    std::int64_t const s = step.s * lanes;
    std::int64_t p = 0;
    if (s == 1) {
      p = numbers_at_once<simd::native_bytes / int(sizeof(T))>(0);
      if constexpr (simd::native_bytes / int(sizeof(T)) > 4) p = numbers_at_once<4>(p);
    }
    if (p == 0) all_columns<false>(p++, s, nullptr, nullptr);
    for (; p < step.m; ++p) number(p, s);
  }
};

}  // namespace detail

/// means: the transform of n numbers with the sign of exp(-...), for each of `lanes` lines that lie
///        beside each other: element (j, lane) of (n, lanes). It changes x and y, and gives the one
///        of the two that holds the result
template <class T>
struct fft_passes {
  static split_numbers<T> run(fourier::pass_list<T> const& list, split_numbers<T> x,
                              split_numbers<T> y, std::int64_t lanes) {
    for (fourier::pass const& p : list.passes) {
      T const* const numbers = list.numbers.data();
      switch (p.factor) {
      case 2: detail::fft_pass<T, 2>{p, numbers, x, y}.run(lanes); break;
      case 3: detail::fft_pass<T, 3>{p, numbers, x, y}.run(lanes); break;
      case 4: detail::fft_pass<T, 4>{p, numbers, x, y}.run(lanes); break;
      case 5: detail::fft_pass<T, 5>{p, numbers, x, y}.run(lanes); break;
      case 8: detail::fft_pass<T, 8>{p, numbers, x, y}.run(lanes); break;
      default: detail::fft_pass<T, 0>{p, numbers, x, y}.run(lanes);
      }
      split_numbers<T> const other = x;
      x = y, y = other;
    }
    return x;
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
