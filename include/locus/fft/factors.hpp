// SPDX-License-Identifier: Apache-2.0
// A transform of one length as a list of passes, each by one factor of the length, with their tables.
#pragma once
#include <cstdint>  // int64_t
#include <vector>   // vector

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN
#include <locus/fft/roots.hpp>    // root_table

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
