// SPDX-License-Identifier: Apache-2.0
// The rivals: the best hand-written loops of their kind, with regular stores.
#pragma once
#include <cstddef>
#include <omp.h>

namespace rivals {

inline constexpr std::size_t lanes = 64 / sizeof(float);
typedef float vector __attribute__((vector_size(64), aligned(4)));

/// means: body(begin, end) on `threads` threads, one contiguous part each
template <class Body>
void parts(std::size_t n, int threads, Body const& body) {
  if (threads == 1) return body(std::size_t(0), n);
#pragma omp parallel num_threads(threads)
  {
    std::size_t const t = static_cast<std::size_t>(omp_get_thread_num()),
                      all = static_cast<std::size_t>(threads);
    std::size_t const each = (n / all + 1023) / 1024 * 1024;
    std::size_t const begin = t * each < n ? t * each : n,
                      end = t + 1 == all || begin + each > n ? n : begin + each;
    body(begin, end);
  }
}

/// means: y[i] = a * x[i] + b
inline void triad(float* __restrict y, float const* __restrict x, float a, float b, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}
/// means: y[i] = a * x[i] + z[i]
inline void stream(float* __restrict y, float const* __restrict x, float const* __restrict z,
                   float a, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + z[i];
}
/// means: the sum of x: eight vector accumulators
inline float sum(float const* x, std::size_t n) {
  vector s[8]{};
  std::size_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes)
    for (std::size_t k = 0; k < 8; ++k) s[k] += *reinterpret_cast<vector const*>(x + i + k * lanes);
  for (int k = 1; k < 8; ++k) s[0] += s[k];
  float t = 0;
  for (std::size_t l = 0; l < lanes; ++l) t += s[0][l];
  for (; i < n; ++i) t += x[i];
  return t;
}

}  // namespace rivals
