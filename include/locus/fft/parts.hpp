// SPDX-License-Identifier: Apache-2.0
// Real and imaginary parts of arrays of complex numbers: apart, together, times roots; the halves of
// real lines.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_FFT_PARTS)
#define LOCUS_FFT_PARTS
#include <locus/fft/butterflies.hpp>    // fft_load, fft_zip
#include <locus/simd/instructions.hpp>  // LOCUS_CHOSEN

#define LOCUS_CLONED <locus/fft/parts.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

/// means: re[k], im[k] = the parts of number k
template <class T>
struct fft_parts {
  static constexpr int lanes = simd::native_bytes / int(sizeof(T));
  using V = simd::vector<T, lanes>;
  using order = std::make_index_sequence<std::size_t(lanes)>;
  static void split(T const* from, std::int64_t n, T* re, T* im) {
    std::int64_t k = 0;
    for (; k + lanes <= n; k += lanes) {
      V const a = detail::fft_load<V>(from + 2 * k), b = detail::fft_load<V>(from + 2 * k + lanes);
      detail::fft_store(re + k, detail::fft_every_second<false>(a, b, order{}));
      detail::fft_store(im + k, detail::fft_every_second<true>(a, b, order{}));
    }
    for (; k < n; ++k) re[k] = from[2 * k], im[k] = from[2 * k + 1];
  }
  static void join(T const* re, T const* im, std::int64_t n, T scale, T* to) {
    std::int64_t k = 0;
    for (; k + lanes <= n; k += lanes) {
      V const a = detail::fft_load<V>(re + k) * scale, b = detail::fft_load<V>(im + k) * scale;
      detail::fft_store(to + 2 * k, detail::fft_zip<false>(a, b, order{}));
      detail::fft_store(to + 2 * k + lanes, detail::fft_zip<true>(a, b, order{}));
    }
    for (; k < n; ++k) to[2 * k] = re[k] * scale, to[2 * k + 1] = im[k] * scale;
  }
  /// means: (re + i im) [j, lane] *= (c + i s)[j]     shape: (n, columns), of c and s n
  static void multiply(T* re, T* im, T const* c, T const* s, std::int64_t n, std::int64_t columns) {
    if (columns == 1) {
      std::int64_t k = 0;
      for (; k + lanes <= n; k += lanes)
        turn(re + k, im + k, detail::fft_load<V>(c + k), detail::fft_load<V>(s + k));
      for (; k < n; ++k) turn_one(re[k], im[k], c[k], s[k]);
      return;
    }
    for (std::int64_t j = 0; j < n; ++j, re += columns, im += columns) {
      std::int64_t k = 0;
      for (; k + lanes <= columns; k += lanes) turn(re + k, im + k, c[j] - V{}, s[j] - V{});
      for (; k < columns; ++k) turn_one(re[k], im[k], c[j], s[j]);
    }
  }
  /// means: the numbers k and n - k, k from `begin` on, of the transform of 2 n real numbers, from
  ///        z, that of the n numbers z whose parts they are; whole vectors of them
  /// returns: the first k that is left
  static std::int64_t join_halves(T const* re, T const* im, T const* c, T const* s, std::int64_t n,
                                  std::int64_t begin, T* to) {
    std::int64_t k = begin;
    for (; 2 * (k + lanes) <= n; k += lanes) {
      std::int64_t const other = n - k - lanes + 1;
      V const ar = load(re + k), ai = load(im + k), br = turned(load(re + other)),
              bi = turned(load(im + other));
      V const er = (ar + br) * T(0.5), ei = (ai - bi) * T(0.5), pr = (ai + bi) * T(0.5),
              pi = (br - ar) * T(0.5);
      V const wc = load(c + k), ws = load(s + k), wr = pr * wc - pi * ws, wi = pr * ws + pi * wc;
      put(to + 2 * k, er + wr, ei + wi);
      put(to + 2 * other, turned(er - wr), turned(wi - ei));
    }
    return k;
  }
  /// means: z[k] and z[n - k], times 2 n, from the numbers k and n - k, the same way backwards
  static std::int64_t split_halves(T const* from, T const* c, T const* s, std::int64_t n,
                                   std::int64_t begin, T* re, T* im) {
    std::int64_t k = begin;
    for (; 2 * (k + lanes) <= n; k += lanes) {
      std::int64_t const other = n - k - lanes + 1;
      V ar, ai, br, bi;
      get(from + 2 * k, ar, ai);
      get(from + 2 * other, br, bi);
      br = turned(br), bi = turned(bi);
      V const er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi;
      V const wc = load(c + k), ws = load(s + k), pr = dr * wc + di * ws, pi = di * wc - dr * ws;
      detail::fft_store(re + k, V(er - pi)), detail::fft_store(im + k, V(ei + pr));
      detail::fft_store(re + other, turned(er + pi)),
          detail::fft_store(im + other, turned(pr - ei));
    }
    return k;
  }

 private:
  LOCUS_VECTOR_FUNCTION static V load(T const* from) { return detail::fft_load<V>(from); }
  LOCUS_VECTOR_FUNCTION static V turned(V const& v) { return detail::fft_turned(v, order{}); }
  LOCUS_VECTOR_FUNCTION static void put(T* to, V const& a, V const& b) {
    detail::fft_store(to, detail::fft_zip<false>(a, b, order{}));
    detail::fft_store(to + lanes, detail::fft_zip<true>(a, b, order{}));
  }
  LOCUS_VECTOR_FUNCTION static void get(T const* from, V& re, V& im) {
    V const a = load(from), b = load(from + lanes);
    re = detail::fft_every_second<false>(a, b, order{});
    im = detail::fft_every_second<true>(a, b, order{});
  }
  LOCUS_VECTOR_FUNCTION static void turn(T* re, T* im, V const& c, V const& s) {
    V const a = detail::fft_load<V>(re), b = detail::fft_load<V>(im);
    detail::fft_store(re, V(a * c - b * s));
    detail::fft_store(im, V(a * s + b * c));
  }
  LOCUS_VECTOR_FUNCTION static void turn_one(T& re, T& im, T c, T s) {
    T const a = re;
    re = a * c - im * s;
    im = a * s + im * c;
  }
};

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
