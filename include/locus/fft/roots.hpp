// SPDX-License-Identifier: Apache-2.0
// Roots of unity, exact but for the last rounding.
#pragma once
#include <cmath>    // cosl, sinl
#include <cstdint>  // int64_t
#include <vector>   // vector

#include <locus/core/macros.hpp>  // LOCUS_COLD_BEGIN

namespace locus::fourier {

/// The root exp(-2 pi i k / n) in the widest type of the machine.
struct root {
  long double re, im;
};

LOCUS_COLD_BEGIN
/// means: exp(-2 pi i k / n) for 0 <= k < n; the angle is taken in the eighth of a turn that has
///        the shortest one, so that sine and cosine are exact but for their rounding
inline root root_of_unity(std::int64_t k, std::int64_t n) {
  // k / n = quarter / 4 + rest / (4 n) turns, and |rest| <= n / 2
  std::int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;
  if (2 * rest > n) rest -= n, ++quarter;
  long double const angle = 1.570796326794896619231321691639751442L *
                            static_cast<long double>(rest) / static_cast<long double>(n);
  long double const c = std::cos(angle), s = std::sin(angle);
  switch (quarter & 3) {
  case 0: return {c, -s};
  case 1: return {-s, -c};
  case 2: return {-c, s};
  default: return {s, c};
  }
}

/// The roots exp(-2 pi i k / n) for all k: each the product of one root of a coarse table and one
/// of a fine table, in the widest type.
/// cost: about 2 sqrt(n) sines and cosines, then one product for each root
class root_table {
 public:
  explicit root_table(std::int64_t n) : n_(n) {
    while (step_ * step_ < n) step_ *= 2;
    for (std::int64_t k = 0; k < step_ && k < n; ++k) fine_.push_back(root_of_unity(k, n));
    for (std::int64_t k = 0; k < n; k += step_) coarse_.push_back(root_of_unity(k, n));
  }
  /// means: exp(-2 pi i k / n)     shape: 0 <= k < n
  root operator()(std::int64_t k) const {
    if (4 * k % n_ == 0) return root_of_unity(k, n_);  // exactly 1, -i, -1, i
    root const a = coarse_[std::size_t(k / step_)], b = fine_[std::size_t(k % step_)];
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  std::int64_t size() const { return n_; }

 private:
  std::int64_t n_, step_ = 1;
  std::vector<root> coarse_, fine_;
};
LOCUS_COLD_END

}  // namespace locus::fourier
