// SPDX-License-Identifier: Apache-2.0
// Transforms of as many numbers as a pass has for its factor, in registers: each number is a vector
// of lanes that are transformed beside each other. Real and imaginary parts lie apart.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_FFT_BUTTERFLIES)
#define LOCUS_FFT_BUTTERFLIES
#include <cstdint>  // int64_t
#include <utility>  // index_sequence

#include <locus/core/macros.hpp>  // LOCUS_MODE, LOCUS_UNROLL
#include <locus/fft/factors.hpp>  // largest_factor
#include <locus/simd/native.hpp>  // vector

#define LOCUS_CLONED <locus/fft/butterflies.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

namespace detail {

/// means: lanes of a pass: a vector, or one number
template <class T, int N>
struct fft_lanes {
  using type = simd::vector<T, N>;
};
template <class T>
struct fft_lanes<T, 1> {
  using type = T;
};
template <class T, int N>
using fft_lanes_t = typename fft_lanes<T, N>::type;

template <class V, class T>
LOCUS_VECTOR_FUNCTION V fft_load(T const* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
LOCUS_VECTOR_FUNCTION void fft_store(T* to, V const& v) {
  __builtin_memcpy(to, &v, sizeof v);
}
/// means: {a0, b0, a1, b1, ...} of the lower halves, or of the upper halves
#if defined(__CUDACC__)  // nvcc's front end has no shuffles
template <bool Upper, class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_zip(V const& a, V const& b, std::index_sequence<Idx...>) {
  constexpr std::size_t from = Upper ? sizeof...(Idx) / 2 : 0;
  return V{(Idx % 2 == 0 ? a[from + Idx / 2] : b[from + Idx / 2])...};
}
template <bool Odd, class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_every_second(V const& a, V const& b, std::index_sequence<Idx...>) {
  constexpr std::size_t n = sizeof...(Idx), odd = Odd ? 1 : 0;
  return V{(2 * Idx < n ? a[(2 * Idx + odd) % n] : b[(2 * Idx + odd) % n])...};
}
/// means: the last lane first
template <class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_turned(V const& a, std::index_sequence<Idx...>) {
  return V{a[sizeof...(Idx) - 1 - Idx]...};
}
#else
template <bool Upper, class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_zip(V const& a, V const& b, std::index_sequence<Idx...>) {
  constexpr int n = int(sizeof...(Idx)), from = Upper ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (int(Idx) % 2 * n + from + int(Idx) / 2)...);
}
template <bool Odd, class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_every_second(V const& a, V const& b, std::index_sequence<Idx...>) {
  return __builtin_shufflevector(a, b, (2 * int(Idx) + (Odd ? 1 : 0))...);
}
template <class V, std::size_t... Idx>
LOCUS_VECTOR_FUNCTION V fft_turned(V const& a, std::index_sequence<Idx...>) {
  return __builtin_shufflevector(a, a, (int(sizeof...(Idx)) - 1 - int(Idx))...);
}
#endif
/// means: v[i][j] is element r j + i of the result, which lies in v[0], v[1], ...; R a power of two
template <int R, int N, class V>
LOCUS_VECTOR_FUNCTION void fft_interleave(V* v) {
  if constexpr (R > 1) {
    using lanes = std::make_index_sequence<std::size_t(N)>;
    V even[R / 2], odd[R / 2];
    LOCUS_UNROLL for (int i = 0; i < R / 2; ++i) even[i] = v[2 * i], odd[i] = v[2 * i + 1];
    fft_interleave<R / 2, N>(even);
    fft_interleave<R / 2, N>(odd);
    LOCUS_UNROLL for (int i = 0; i < R / 2; ++i) {
      v[2 * i] = fft_zip<false>(even[i], odd[i], lanes{});
      v[2 * i + 1] = fft_zip<true>(even[i], odd[i], lanes{});
    }
  }
}

/// means: r, i = the transform of Factor numbers
template <int Factor, class V, class T>
LOCUS_VECTOR_FUNCTION void fft_butterfly(V* r, V* i, T const* constants) {
  static_cast<void>(constants);
  if constexpr (Factor == 2) {
    V const a = r[1], b = i[1];
    r[1] = r[0] - a, i[1] = i[0] - b;
    r[0] = r[0] + a, i[0] = i[0] + b;
  } else if constexpr (Factor == 3) {
    V const c = constants[1] - V{}, s = constants[3 + 1] - V{};
    V const tr = r[1] + r[2], ti = i[1] + i[2];
    V const ur = (r[1] - r[2]) * s, ui = (i[1] - i[2]) * s;
    V const cr = r[0] + tr * c, ci = i[0] + ti * c;
    r[0] = r[0] + tr, i[0] = i[0] + ti;
    r[1] = cr + ui, i[1] = ci - ur;
    r[2] = cr - ui, i[2] = ci + ur;
  } else if constexpr (Factor == 4) {
    V const ar = r[0] + r[2], ai = i[0] + i[2], br = r[0] - r[2], bi = i[0] - i[2];
    V const cr = r[1] + r[3], ci = i[1] + i[3], dr = r[1] - r[3], di = i[1] - i[3];
    r[0] = ar + cr, i[0] = ai + ci;
    r[2] = ar - cr, i[2] = ai - ci;
    r[1] = br + di, i[1] = bi - dr;
    r[3] = br - di, i[3] = bi + dr;
  } else if constexpr (Factor == 5) {
    // cosines and sines of one and of two fifths of a turn
    V const c1 = T(0.309016994374947424102293417182819059L) - V{},
            c2 = T(-0.809016994374947424102293417182819059L) - V{},
            s1 = T(0.951056516295153572116439333379382143L) - V{},
            s2 = T(0.587785252292473129168705954639072769L) - V{};
    V const ar = r[1] + r[4], ai = i[1] + i[4], br = r[2] + r[3], bi = i[2] + i[3];
    V const cr = r[1] - r[4], ci = i[1] - i[4], dr = r[2] - r[3], di = i[2] - i[3];
    V const pr = r[0] + c1 * ar + c2 * br, pi = i[0] + c1 * ai + c2 * bi;
    V const qr = r[0] + c2 * ar + c1 * br, qi = i[0] + c2 * ai + c1 * bi;
    V const ur = s1 * cr + s2 * dr, ui = s1 * ci + s2 * di;
    V const vr = s2 * cr - s1 * dr, vi = s2 * ci - s1 * di;
    r[0] = r[0] + ar + br, i[0] = i[0] + ai + bi;
    r[1] = pr + ui, i[1] = pi - ur;
    r[4] = pr - ui, i[4] = pi + ur;
    r[2] = qr + vi, i[2] = qi - vr;
    r[3] = qr - vi, i[3] = qi + vr;
  } else {
    V er[4] = {r[0], r[2], r[4], r[6]}, ei[4] = {i[0], i[2], i[4], i[6]};
    V odr[4] = {r[1], r[3], r[5], r[7]}, odi[4] = {i[1], i[3], i[5], i[7]};
    fft_butterfly<4>(er, ei, constants);
    fft_butterfly<4>(odr, odi, constants);
    V const half = T(0.707106781186547524400844362104849039L) - V{};
    V const ar = (odr[1] + odi[1]) * half, ai = (odi[1] - odr[1]) * half;
    V const br = odi[2], bi = V{} - odr[2];
    V const cr = (odi[3] - odr[3]) * half, ci = (V{} - odr[3] - odi[3]) * half;
    r[0] = er[0] + odr[0], i[0] = ei[0] + odi[0];
    r[4] = er[0] - odr[0], i[4] = ei[0] - odi[0];
    r[1] = er[1] + ar, i[1] = ei[1] + ai;
    r[5] = er[1] - ar, i[5] = ei[1] - ai;
    r[2] = er[2] + br, i[2] = ei[2] + bi;
    r[6] = er[2] - br, i[6] = ei[2] - bi;
    r[3] = er[3] + cr, i[3] = ei[3] + ci;
    r[7] = er[3] - cr, i[7] = ei[3] - ci;
  }
}
/// means: the same for an odd factor that is known at run time
template <class V, class T>
LOCUS_VECTOR_FUNCTION void fft_odd_butterfly(int factor, V* r, V* i, T const* constants) {
  constexpr int most = fourier::largest_factor / 2 + 1;
  V sr[most], si[most], dr[most], di[most];
  int const half = factor / 2;
  V ar = r[0], ai = i[0];
  V const firstr = r[0], firsti = i[0];
  for (int j = 1; j <= half; ++j) {
    sr[j] = r[j] + r[factor - j], si[j] = i[j] + i[factor - j];
    dr[j] = r[j] - r[factor - j], di[j] = i[j] - i[factor - j];
    ar = ar + sr[j], ai = ai + si[j];
  }
  r[0] = ar, i[0] = ai;
  for (int k = 1; k <= half; ++k) {
    V cr = firstr, ci = firsti, ur = V{}, ui = V{};
    for (int j = 1, at = k; j <= half; ++j) {
      T const c = constants[at], s = constants[factor + at];
      cr = cr + c * sr[j], ci = ci + c * si[j];
      ur = ur + s * dr[j], ui = ui + s * di[j];
      at += k;
      if (at >= factor) at -= factor;
    }
    r[k] = cr + ui, i[k] = ci - ur;
    r[factor - k] = cr - ui, i[factor - k] = ci + ur;
  }
}

}  // namespace detail

}  // namespace LOCUS_SPACE(host)
LOCUS_VECTORS_END
#endif
