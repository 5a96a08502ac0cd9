// SPDX-License-Identifier: Apache-2.0
// Equations, factorizations and Fourier transforms. Matrices of an archive have at most 64 rows.
#pragma once
#include <algorithm>

#include <locus/fft/fft.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/eigh.hpp>
#include <locus/linalg/qr.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/linalg/svd.hpp>

#include "archive.hpp"

namespace numpy {

/// (n, n): random, or s st + I, which is positive definite
template <class T>
input<T, Dextents<2>> square(std::int64_t n, std::string_view name, bool definite) {
  input<T, Dextents<2>> in{std::string(name), Tensor<T, Dextents<2>>(n, n)};
  oracle::random r(static_cast<std::uint64_t>(n) + name.size());
  std::vector<double> s(std::size_t(n * n));
  for (double& v : s) v = static_cast<double>(static_cast<T>(r.real(-1, 1)));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = definite ? double(i == j) : s[std::size_t(i * n + j)];
      for (std::int64_t k = 0; definite && k < n; ++k)
        sum += s[std::size_t(i * n + k)] * s[std::size_t(j * n + k)];
      in.value.data()[i * n + j] = static_cast<T>(sum);
    }
  return in;
}

template <class T, class Way>
void matrices(archive& b) {
  if (b.rows() == 0) return;
  auto const m = Way::template matrix<T>(b, "m");
  if constexpr (is_complex_v<T>) {
    b.run<Way>("fft(m) axis=0", [](auto const& a) { return fft<0>(a); }, m);
    b.run<Way>("fft(m) axis=1", [](auto const& a) { return fft<1>(a); }, m);
    b.run<Way>("ifft(m) axis=0", [](auto const& a) { return ifft<0>(a); }, m);
    std::int64_t const n = 2 * b.rows() - 1;
    b.run<Way>("irfft(m) axis=0", [n](auto const& a) { return irfft<0>(a, n); }, m);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    b.run<Way>("rfft(m) axis=0", [](auto const& a) { return rfft<0>(a); }, m);
    b.run<Way>("rfft(m) axis=1", [](auto const& a) { return rfft<1>(a); }, m);
    if constexpr (Way::known == dyn) {  // static extents have no square here
      if (b.rows() > 64) return;
      auto const a = square<T>(b.rows(), "a", false), s = square<T>(b.rows(), "s", true);
      b.run<Way>("solve(a,m)", [](auto const& p, auto const& q) { return solve(p, q); }, a, m);
      b.run<Way>("inv(a)", [](auto const& p) { return inverse(p); }, a);
      b.run<Way>("cholesky(s)", [](auto const& p) { return cholesky(p); }, s);
      b.run<Way>("qr(a)", [](auto const& p) { return results_of(qr(p)); }, a);
      b.run<Way>("eigh(s)", [](auto const& p) { return results_of(eigh(p)); }, s);
      b.run<Way>("svd(m)", [](auto const& p) { return results_of(svd(p)); }, m);
    }
  }
}

}  // namespace numpy
