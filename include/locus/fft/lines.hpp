// SPDX-License-Identifier: Apache-2.0
// The kernels of locus for transforms of lines along any axis: lines in blocks beside each other, on
// the threads of the host.
#pragma once
#include <cmath>    // log2
#include <cstdint>  // int64_t

#include <locus/core/macros.hpp>            // LOCUS_MODE
#include <locus/engine/host/workspace.hpp>  // workspace
#include <locus/fft/tables.hpp>             // tables_for, transform_block
#include <locus/runtime/threads.hpp>        // parallel_for, threads_worth
#include <locus/shape/complex.hpp>          // complex

namespace locus::fourier {

/// Which transform: of complex numbers, of real numbers, and the inverse of each.
enum class transform : unsigned char { forward, inverse, real, real_inverse };

/// means: (outer, n, inner): lines of n real or complex numbers along the middle axis, with n / 2 +
///        1 numbers where the other side of the transform is real
struct line_grid {
  std::int64_t outer, n, inner;
  std::int64_t lines() const { return outer * inner; }
};

/// means: the type of the parts of a number; T itself for a real one
template <class T>
struct parts_of {
  using type = T;
};
template <class T>
struct parts_of<complex<T>> {
  using type = T;
};

inline namespace LOCUS_MODE {

/// Where a block of lines lies: its first number, and how far numbers and lines are apart.
struct line_places {
  std::int64_t first, step, next_line;
};

/// means: parts (n, lanes) of complex numbers of an array, or the array from parts, times scale
template <class T>
void split_lines(complex<T> const* from, line_places const& at, std::int64_t n, std::int64_t lanes,
                 split_numbers<T> to) {
  auto const split = LOCUS_CHOSEN(host, fft_parts<T>::split);
  T const* const x = reinterpret_cast<T const*>(from + at.first);
  if (lanes == 1 && at.step == 1) return split(x, n, to.re, to.im);
  if (at.next_line == 1) {
    for (std::int64_t j = 0; j < n; ++j)
      split(x + 2 * j * at.step, lanes, to.re + j * lanes, to.im + j * lanes);
    return;
  }
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T const* const z = x + 2 * (j * at.step + lane * at.next_line);
      to.re[j * lanes + lane] = z[0], to.im[j * lanes + lane] = z[1];
    }
}
template <class T>
void join_lines(split_numbers<T> from, complex<T>* to, line_places const& at, std::int64_t n,
                std::int64_t lanes, T scale) {
  auto const join = LOCUS_CHOSEN(host, fft_parts<T>::join);
  T* const y = reinterpret_cast<T*>(to + at.first);
  if (lanes == 1 && at.step == 1) return join(from.re, from.im, n, scale, y);
  if (at.next_line == 1) {
    for (std::int64_t j = 0; j < n; ++j)
      join(from.re + j * lanes, from.im + j * lanes, lanes, scale, y + 2 * j * at.step);
    return;
  }
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t j = 0; j < n; ++j) {
      T* const z = y + 2 * (j * at.step + lane * at.next_line);
      z[0] = from.re[j * lanes + lane] * scale, z[1] = from.im[j * lanes + lane] * scale;
    }
}

/// means: one block of lines of complex numbers
template <class T>
void complex_block(tables<T> const& t, bool inverse, complex<T> const* from, complex<T>* to,
                   line_places const& at, std::int64_t lanes, split_numbers<T> x,
                   split_numbers<T> y) {
  // the parts of the numbers change places for the other sign
  auto const turned = [inverse](split_numbers<T> z) {
    return inverse ? split_numbers<T>{z.im, z.re} : z;
  };
  split_lines(from, at, t.n, lanes, x);
  split_numbers<T> const r = transform_block(t, turned(x), turned(y), lanes);
  join_lines(turned(r), to, at, t.n, lanes, inverse ? T(1) / static_cast<T>(t.n) : T(1));
}

/// means: a block of lines of real numbers: an even number of them as half as many complex numbers,
///        whose transform Z gives E + w O with E, O = the sum and the difference of Z[k] and of the
///        conjugate of Z[h - k]
template <class T>
void real_block(tables<T> const& t, std::int64_t n, T const* from, line_places const& in,
                complex<T>* to, line_places const& out, std::int64_t lanes, split_numbers<T> x,
                split_numbers<T> y) {
  bool const even = n % 2 == 0;
  bool const alone = even && lanes == 1 && in.step == 1;
  T const* const values = from + in.first;
  if (alone)
    LOCUS_CHOSEN(host, fft_parts<T>::split)(values, t.n, x.re, x.im);
  else
    for (std::int64_t j = 0; j < t.n; ++j)
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        T const* const one = values + (even ? 2 * j : j) * in.step + lane * in.next_line;
        x.re[j * lanes + lane] = one[0], x.im[j * lanes + lane] = even ? one[in.step] : T(0);
      }
  split_numbers<T> const r = transform_block(t, x, y, lanes);
  if (!even) return join_lines(r, to, out, n / 2 + 1, lanes, T(1));
  T* const results = reinterpret_cast<T*>(to + out.first);
  std::int64_t const behind =
      alone ? LOCUS_CHOSEN(host, fft_parts<T>::join_halves)(r.re, r.im, t.halves.re.data(),
                                                            t.halves.im.data(), t.n, 1, results)
            : 1;
  for (std::int64_t k = 0; 2 * k <= t.n; k = k == 0 ? behind : k + 1) {
    std::int64_t const a = k * lanes, b = (k == 0 ? 0 : t.n - k) * lanes;
    T const c = t.halves.re[std::size_t(k)], s = t.halves.im[std::size_t(k)];
    T* const one = results + 2 * k * out.step;
    T* const other = results + 2 * (t.n - k) * out.step;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T const er = (r.re[a + lane] + r.re[b + lane]) / 2,
              ei = (r.im[a + lane] - r.im[b + lane]) / 2,
              pr = (r.im[a + lane] + r.im[b + lane]) / 2,
              pi = (r.re[b + lane] - r.re[a + lane]) / 2;
      T const wr = pr * c - pi * s, wi = pr * s + pi * c;
      std::int64_t const at = 2 * lane * out.next_line;
      one[at] = er + wr, one[at + 1] = ei + wi;
      other[at] = er - wr, other[at + 1] = wi - ei;
    }
  }
}

/// means: a block of lines of n / 2 + 1 numbers as lines of n real ones, the same way backwards
template <class T>
void real_inverse_block(tables<T> const& t, std::int64_t n, complex<T> const* from,
                        line_places const& in, T* to, line_places const& out, std::int64_t lanes,
                        split_numbers<T> x, split_numbers<T> y) {
  bool const even = n % 2 == 0;
  T const scale = T(1) / static_cast<T>(n);
  bool const alone = even && lanes == 1 && in.step == 1;
  T const* const numbers = reinterpret_cast<T const*>(from + in.first);
  std::int64_t const behind =
      alone ? LOCUS_CHOSEN(host, fft_parts<T>::split_halves)(numbers, t.halves.re.data(),
                                                             t.halves.im.data(), t.n, 1, x.re, x.im)
            : 1;
  for (std::int64_t k = 0; 2 * k <= (even ? t.n : n); k = k == 0 ? behind : k + 1) {
    std::int64_t const a = k * lanes, b = (k == 0 ? 0 : t.n - k) * lanes;
    T const c = even ? t.halves.re[std::size_t(k)] : T(0),
            s = even ? t.halves.im[std::size_t(k)] : T(0);
    T const* const one = numbers + 2 * k * in.step;
    T const* const other = even ? numbers + 2 * (t.n - k) * in.step : one;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      std::int64_t const at = 2 * lane * in.next_line;
      T const ar = one[at], ai = k == 0 ? T(0) : one[at + 1];  // that of a real line is 0 there
      if (!even) {
        x.re[b + lane] = ar, x.im[b + lane] = -ai;
        x.re[a + lane] = ar, x.im[a + lane] = ai;
        continue;
      }
      T const br = other[at], bi = k == 0 ? T(0) : other[at + 1];
      // E = a + the conjugate of b, and i O = i w' (a - the conjugate of b)
      T const er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi;
      T const pr = dr * c + di * s, pi = di * c - dr * s;
      x.re[b + lane] = er + pi, x.im[b + lane] = pr - ei;
      x.re[a + lane] = er - pi, x.im[a + lane] = ei + pr;
    }
  }
  split_numbers<T> const turned = transform_block(t, {x.im, x.re}, {y.im, y.re}, lanes);
  split_numbers<T> const r{turned.im, turned.re};
  T* const values = to + out.first;
  if (alone) return LOCUS_CHOSEN(host, fft_parts<T>::join)(r.re, r.im, t.n, scale, values);
  for (std::int64_t j = 0; j < t.n; ++j)
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T* const one = values + (even ? 2 * j : j) * out.step + lane * out.next_line;
      one[0] = r.re[j * lanes + lane] * scale;
      if (even) one[out.step] = r.im[j * lanes + lane] * scale;
    }
}

/// means: lines that one block takes: whole vectors of them where they lie beside each other or are
///        short, as long as the block fits in a cache
template <class T>
std::int64_t lines_at_once(std::int64_t room, std::int64_t inner) {
  constexpr std::int64_t vector = 64 / std::int64_t(sizeof(T)), bytes = std::int64_t(256) << 10;
  if (inner == 1) return room <= 48 ? vector : 1;
  std::int64_t const fit = bytes / (4 * room * std::int64_t(sizeof(T)));
  std::int64_t const lanes = fit < vector ? vector : fit / vector * vector;
  return lanes < inner ? lanes : inner;
}

/// means: results[o, ., c] = the transform of operands[o, ., c]; inverse ones divide by n
/// shape: grid: n: the length of the lines; that of real numbers, if one side is real
/// cost:  5 n log2 n operations for a line of small factors, about 8 times as many for others;
///        blocks of lines on several threads
template <transform Kind, class From, class To>
void transform_lines(From const* from, To* to, line_grid const& grid) {
  constexpr bool takes_real = Kind == transform::real, gives_real = Kind == transform::real_inverse;
  using T = typename parts_of<From>::type;
  std::int64_t const n = grid.n, inner = grid.inner;
  if (n == 0 || grid.lines() == 0) return;
  bool const halves = (takes_real || gives_real) && n % 2 == 0;
  auto const kept = tables_for<T>(halves ? n / 2 : n, halves);
  tables<T> const& t = *kept;
  std::int64_t const most = lines_at_once<T>(t.room(), inner),
                     columns = inner == 1 ? grid.outer : inner,  // lines that blocks divide
      blocks = (columns + most - 1) / most, rows = inner == 1 ? 1 : grid.outer,
                     in_n = gives_real ? n / 2 + 1 : n, out_n = takes_real ? n / 2 + 1 : n;
  float const work = static_cast<float>(grid.lines() * n) *
                     (1 + 0.5f * std::log2(static_cast<float>(n))) *
                     (t.chirp.re.empty() ? 1.f : 8.f);
  int const threads = threads_worth(work);
  parallel_ranges(rows * blocks, 1, threads, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t const numbers = t.room() * (most < columns ? most : columns),
                       // arrays a quarter of a page apart: caches keep few lines for equal places
        apart = numbers + 1088 / std::int64_t(sizeof(T));
    locus::host::workspace<T> const memory(4 * apart, "a Fourier transform; give it shorter lines");
    split_numbers<T> const x{memory.data(), memory.data() + apart},
        y{memory.data() + 2 * apart, memory.data() + 3 * apart};
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t const o = k / blocks, first = k % blocks * most,
                         lanes = columns - first < most ? columns - first : most;
      auto const places = [&](std::int64_t length) {
        return inner == 1 ? line_places{first * length, 1, length}
                          : line_places{o * length * inner + first, inner, 1};
      };
      if constexpr (takes_real)
        real_block(t, n, from, places(in_n), to, places(out_n), lanes, x, y);
      else if constexpr (gives_real)
        real_inverse_block(t, n, from, places(in_n), to, places(out_n), lanes, x, y);
      else
        complex_block(t, Kind == transform::inverse, from, to, places(n), lanes, x, y);
    }
  });
}

}  // namespace LOCUS_MODE

}  // namespace locus::fourier
