// SPDX-License-Identifier: Apache-2.0
// The tables of a length, computed once and kept: passes for lengths of small factors, a chirp for
// all others.
#pragma once
#include <cstdint>  // int64_t
#include <memory>   // shared_ptr
#include <vector>   // vector

#include <locus/core/lock.hpp>    // mutex, lock_guard
#include <locus/core/macros.hpp>  // LOCUS_MODE, LOCUS_SHARED_STATE
#include <locus/fft/factors.hpp>  // pass_list, make_passes
#include <locus/fft/parts.hpp>    // fft_parts
#include <locus/fft/passes.hpp>   // fft_passes

namespace locus::fourier {

/// means: numbers (re, im) of T
template <class T>
struct parts {
  std::vector<T> re, im;
  void put(long double a, long double b) {
    re.push_back(static_cast<T>(a)), im.push_back(static_cast<T>(b));
  }
};

/// The tables for transforms of n numbers. A length with a factor beyond those of a pass is a
/// product by a chirp, a convolution of a length that has passes, and again a product by the chirp.
/// after: Bluestein, A linear filtering approach to the computation of the discrete Fourier
///        transform, 1970
template <class T>
struct tables {
  std::int64_t n = 0;
  pass_list<T> passes;  // of n, or of the convolution
  parts<T> chirp;       // exp(-pi i k^2 / n); none where n has passes
  parts<T> filter;      // the transform of the inverse chirp, over the length of the convolution
  parts<T> halves;  // exp(-2 pi i k / 2 n), k <= n: the roots that join the halves of a real line
  /// means: numbers that the work on one line has room for
  std::int64_t room() const { return n > passes.n ? n : passes.n; }
};

LOCUS_COLD_BEGIN
/// means: the least length of 2^a, 3 2^a and 5 2^a that is not below n
inline std::int64_t good_length(std::int64_t n) {
  std::int64_t best = 1;
  while (best < n) best *= 2;
  for (std::int64_t f = 3; f <= 5; f += 2) {
    std::int64_t m = 8 * f;
    while (m < n) m *= 2;
    if (m < best) best = m;
  }
  return best;
}
LOCUS_COLD_END

inline namespace LOCUS_MODE {

LOCUS_COLD_BEGIN
/// means: tables for n numbers, with those that join the halves of a line of 2 n real numbers
template <class T>
tables<T> make_tables(std::int64_t n, bool halves) {
  tables<T> t;
  t.n = n;
  t.passes = make_passes<T>(n);
  if (t.passes.n == 0) {
    std::int64_t const m = good_length(2 * n - 1);
    t.passes = make_passes<T>(m);
    std::vector<double> x(static_cast<std::size_t>(2 * m)), y(static_cast<std::size_t>(2 * m));
    root_table const roots(2 * n);
    std::int64_t square = 0;  // k^2, of 2 n
    for (std::int64_t k = 0; k < n; ++k) {
      root const w = roots(square);
      t.chirp.put(w.re, w.im);
      for (std::int64_t const at : {k, (m - k) % m}) {
        x[std::size_t(at)] = static_cast<double>(w.re);
        x[std::size_t(m + at)] = static_cast<double>(-w.im);
      }
      square = (square + 2 * k + 1) % (2 * n);
    }
    split_numbers<double> const r = LOCUS_CHOSEN(host, fft_passes<double>::run)(
        make_passes<double>(m), {x.data(), x.data() + m}, {y.data(), y.data() + m}, 1);
    for (std::int64_t k = 0; k < m; ++k)
      t.filter.put(r.re[k] / static_cast<double>(m), r.im[k] / static_cast<double>(m));
  }
  if (halves) {
    root_table const roots(2 * n);
    for (std::int64_t k = 0; k <= n; ++k) {
      root const w = roots(k);
      t.halves.put(w.re, w.im);
    }
  }
  return t;
}

LOCUS_COLD_END

/// The tables of the lengths that were used last.
template <class T>
struct kept_tables {
  static constexpr int most = 32;
  mutex lock;
  std::vector<std::shared_ptr<tables<T> const>> last;  // the one used last stands behind
};

/// means: the tables for n numbers
/// cost:  about 0.1 microseconds; for a new length, some ten nanoseconds for each number. The tables
///        of the last 32 lengths of a type are kept
template <class T>
LOCUS_SHARED_STATE std::shared_ptr<tables<T> const> tables_for(std::int64_t n, bool halves) {
  static kept_tables<T> kept;
  {
    lock_guard const guard(kept.lock);
    for (std::size_t k = kept.last.size(); k-- > 0;)
      if (kept.last[k]->n == n && kept.last[k]->halves.re.empty() != halves) {
        if (k + 1 == kept.last.size()) return kept.last[k];
        auto const found = kept.last[k];
        kept.last.erase(kept.last.begin() + static_cast<std::ptrdiff_t>(k));
        kept.last.push_back(found);
        return found;
      }
  }
  auto const made = std::make_shared<tables<T> const>(make_tables<T>(n, halves));
  lock_guard const guard(kept.lock);
  if (kept.last.size() >= kept.most) kept.last.erase(kept.last.begin());
  kept.last.push_back(made);
  return made;
}

/// means: the transforms of `lanes` lines of n numbers, element (j, lane) of (n, lanes), unscaled.
///        It changes x and y, which have t.room() rows, and gives the one that holds the result
template <class T>
split_numbers<T> transform_block(tables<T> const& t, split_numbers<T> x, split_numbers<T> y,
                                 std::int64_t lanes) {
  if (t.chirp.re.empty()) return LOCUS_CHOSEN(host, fft_passes<T>::run)(t.passes, x, y, lanes);
  auto const times = LOCUS_CHOSEN(host, fft_parts<T>::multiply);
  std::int64_t const m = t.passes.n;
  times(x.re, x.im, t.chirp.re.data(), t.chirp.im.data(), t.n, lanes);
  for (std::int64_t k = t.n * lanes; k < m * lanes; ++k) x.re[k] = x.im[k] = 0;
  split_numbers<T> const r = LOCUS_CHOSEN(host, fft_passes<T>::run)(t.passes, x, y, lanes);
  split_numbers<T> const other = r.re == x.re ? y : x;
  times(r.re, r.im, t.filter.re.data(), t.filter.im.data(), m, lanes);
  // parts that change places turn the sign of the transform
  split_numbers<T> const back =
      LOCUS_CHOSEN(host, fft_passes<T>::run)(t.passes, {r.im, r.re}, {other.im, other.re}, lanes);
  times(back.im, back.re, t.chirp.re.data(), t.chirp.im.data(), t.n, lanes);
  return {back.im, back.re};
}

}  // namespace LOCUS_MODE

}  // namespace locus::fourier
