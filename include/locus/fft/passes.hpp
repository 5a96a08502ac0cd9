// SPDX-License-Identifier: Apache-2.0
// A transform of one length as passes over the data, each by one factor of the length: tables, and
// the kernels of the host. Real and imaginary parts lie apart.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_FFT_PASSES)
#define LOCUS_FFT_PASSES
#include <cstdint>  // int64_t
#include <utility>  // index_sequence
#include <vector>   // vector

#include <locus/core/macros.hpp>        // LOCUS_MODE, LOCUS_COLD_BEGIN
#include <locus/fft/roots.hpp>          // root_table
#include <locus/simd/instructions.hpp>  // LOCUS_CHOSEN
#include <locus/simd/native.hpp>        // vector

namespace locus::fourier {

/// The largest factor that a pass takes: each number of its result is a sum of as many.
inline constexpr int largest_factor = 31;

/// One pass: transforms of `factor` numbers, `m` of them for each of `s` columns.
struct pass {
  int factor;
  std::int64_t m, s;
  std::int64_t roots;      // where those that follow the pass begin: (factor - 1, m) re, then im
  std::int64_t constants;  // where cosines and sines of a pass of any odd factor begin
};

/// Real and imaginary parts of as many numbers as a kernel works on.
template <class T>
struct split_numbers {
  T* re;
  T* im;
};

/// means: tables of T for the passes of one length
template <class T>
struct pass_list {
  std::int64_t n = 0;  // 0: the length has a factor that no pass takes
  std::vector<pass> passes;
  std::vector<T> numbers;
};

LOCUS_COLD_BEGIN
/// means: the next factor of n that a pass takes; n itself if it is a prime beyond them
inline std::int64_t next_factor(std::int64_t n) {
  // passes by 8 leave few of them; the last factors of a power of two are 4 and 4, not 8 and 2
  if (n % 8 == 0 && n != 16) return 8;
  if (n % 4 == 0) return 4;
  if (n % 2 == 0) return 2;
  for (std::int64_t f = 3; f <= largest_factor && f * f <= n; f += 2)
    if (n % f == 0) return f;
  return n;
}
/// means: passes with factors of 8, 4 and 2 first: they fill vectors of the columns behind them
template <class T>
pass_list<T> make_passes(std::int64_t n) {
  pass_list<T> list;
  std::int64_t left = n;
  while (left > 1) {
    std::int64_t f = next_factor(left);
    if (f > largest_factor) return {};
    list.passes.push_back({static_cast<int>(f), left / f, n / left, 0, 0});
    left /= f;
  }
  list.n = n;
  root_table const roots(n);
  auto const put = [&](long double x) { list.numbers.push_back(static_cast<T>(x)); };
  for (pass& p : list.passes) {
    p.roots = static_cast<std::int64_t>(list.numbers.size());
    // root (p, k) = exp(-2 pi i p k / (factor m)), of n roots number p k s
    for (int part = 0; part < 2 && p.m > 1; ++part)
      for (int k = 1; k < p.factor; ++k)
        for (std::int64_t j = 0; j < p.m; ++j) {
          root const w = roots(j * k * p.s);
          put(part == 0 ? w.re : w.im);
        }
    p.constants = static_cast<std::int64_t>(list.numbers.size());
    if (p.factor == 3 || p.factor > 5) {
      for (int part = 0; part < 2; ++part)
        for (int k = 0; k < p.factor; ++k) {
          root const w = root_of_unity(k, p.factor);
          put(part == 0 ? w.re : -w.im);
        }
    }
  }
  return list;
}
LOCUS_COLD_END

}  // namespace locus::fourier

#define LOCUS_CLONED <locus/fft/passes.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(host) {

using fourier::split_numbers;

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
template <bool Upper, class V, std::size_t... I>
LOCUS_VECTOR_FUNCTION V fft_zip(V const& a, V const& b, std::index_sequence<I...>) {
  constexpr std::size_t from = Upper ? sizeof...(I) / 2 : 0;
  return V{(I % 2 == 0 ? a[from + I / 2] : b[from + I / 2])...};
}
template <bool Odd, class V, std::size_t... I>
LOCUS_VECTOR_FUNCTION V fft_every_second(V const& a, V const& b, std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I), odd = Odd ? 1 : 0;
  return V{(2 * I < n ? a[(2 * I + odd) % n] : b[(2 * I + odd) % n])...};
}
#else
template <bool Upper, class V, std::size_t... I>
LOCUS_VECTOR_FUNCTION V fft_zip(V const& a, V const& b, std::index_sequence<I...>) {
  constexpr int n = int(sizeof...(I)), from = Upper ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (int(I) % 2 * n + from + int(I) / 2)...);
}
template <bool Odd, class V, std::size_t... I>
LOCUS_VECTOR_FUNCTION V fft_every_second(V const& a, V const& b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (2 * int(I) + (Odd ? 1 : 0))...);
}
#endif
/// means: v[i][j] is element r j + i of the result, which lies in v[0], v[1], ...; R a power of two
template <int R, int N, class V>
LOCUS_VECTOR_FUNCTION void fft_interleave(V* v) {
  if constexpr (R > 1) {
    using lanes = std::make_index_sequence<std::size_t(N)>;
    V even[R / 2], odd[R / 2];
    for (int i = 0; i < R / 2; ++i) even[i] = v[2 * i], odd[i] = v[2 * i + 1];
    fft_interleave<R / 2, N>(even);
    fft_interleave<R / 2, N>(odd);
    for (int i = 0; i < R / 2; ++i) {
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
    static_assert(Factor == 8);
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
  template <class V>
  LOCUS_VECTOR_FUNCTION void load(V* r, V* i, std::int64_t at, std::int64_t stride) const {
    for (int j = 0; j < factor(); ++j) {
      r[j] = fft_load<V>(x.re + at + j * stride);
      i[j] = fft_load<V>(x.im + at + j * stride);
    }
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
      for (int k = 0; k < factor(); ++k) {
        if (Roots && k > 0) turn(r[k], i[k], c[k], w[k]);
        std::int64_t const to = q + s * (factor() * p + k);
        fft_store(y.re + to, r[k]), fft_store(y.im + to, i[k]);
      }
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
    for (int k = 1; k < factor(); ++k) {
      T const* const of = numbers + step.roots + (k - 1) * step.m + p;
      c[k] = of[0], w[k] = of[(factor() - 1) * step.m];
    }
    all_columns<true>(p, s, c, w);
  }
  /// N numbers p of one column
  template <int N>
  LOCUS_VECTOR_FUNCTION std::int64_t numbers_at_once(std::int64_t p) const {
    using V = fft_lanes_t<T, N>;
    for (; p + N <= step.m; p += N) {
      V r[room], i[room];
      load(r, i, p, step.m);
      for (int k = 1; k < factor(); ++k) {
        T const* const of = numbers + step.roots + (k - 1) * step.m + p;
        turn(r[k], i[k], fft_load<V>(of), fft_load<V>(of + (factor() - 1) * step.m));
      }
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

 private:
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
