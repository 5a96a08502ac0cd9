// SPDX-License-Identifier: Apache-2.0
// Hand-written loops: the machine's limits (what reading, copying and writing so many bytes takes)
// and the best plain loops of their kind. Vectors of the compiler, as wide as the target's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <omp.h>

namespace loops {

#if defined(__AVX512F__)
inline constexpr std::size_t width = 64;
#elif defined(__AVX__)
inline constexpr std::size_t width = 32;
#else
inline constexpr std::size_t width = 16;
#endif
typedef float vector __attribute__((vector_size(width)));
inline constexpr std::size_t lanes = width / sizeof(float);

/// means: *p = x past the caches
inline void stream(float* p, vector x) {
#if defined(__clang__)
  __builtin_nontemporal_store(x, reinterpret_cast<vector*>(p));
#elif defined(__AVX512F__)
  __builtin_ia32_movntps512(p, x);
#elif defined(__AVX__)
  __builtin_ia32_movntps256(p, x);
#elif defined(__SSE2__)
  __builtin_ia32_movntps(p, x);
#else
  *reinterpret_cast<vector*>(p) = x;
#endif
}
inline void end_of_stream() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
inline vector const& at(float const* p) { return *reinterpret_cast<vector const*>(p); }
inline vector& at(float* p) { return *reinterpret_cast<vector*>(p); }

/// means: the square roots of the lanes, by the one instruction for them
inline vector root(vector x) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_sqrtps512(x, 4);
#elif defined(__AVX512F__)
  return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif defined(__AVX__)
  return __builtin_ia32_sqrtps256(x);
#elif defined(__SSE2__)
  return __builtin_ia32_sqrtps(x);
#else
  for (std::size_t l = 0; l < lanes; ++l) x[l] = __builtin_sqrtf(x[l]);
  return x;
#endif
}

/// means: body(begin, end) on `threads` threads, one contiguous part of whole vectors each
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

// The limits: n floats, at multiples of 64 bytes, n a multiple of the lanes.
inline float read(float const* x, std::size_t n) {
  vector s[8]{};
  std::size_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes)
    for (std::size_t k = 0; k < 8; ++k) s[k] += at(x + i + k * lanes);
  for (std::size_t k = 1; k < 8; ++k) s[0] += s[k];
  float t = 0;
  for (std::size_t l = 0; l < lanes; ++l) t += s[0][l];
  return t;
}
inline void copy(float* y, float const* x, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes) at(y + i) = at(x + i);
}
inline void copy_streaming(float* y, float const* x, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes) stream(y + i, at(x + i));
  end_of_stream();
}
/// y = a x + z: STREAM's triad
inline void triad(float* y, float const* x, float const* z, float a, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes) at(y + i) = a * at(x + i) + at(z + i);
}
inline void triad_streaming(float* y, float const* x, float const* z, float a, std::size_t n) {
  for (std::size_t i = 0; i < n; i += lanes) stream(y + i, a * at(x + i) + at(z + i));
  end_of_stream();
}
inline void fill(float* y, float a, std::size_t n) {
  vector const v = a - vector{};
  for (std::size_t i = 0; i < n; i += lanes) at(y + i) = v;
}
inline void fill_streaming(float* y, float a, std::size_t n) {
  vector const v = a - vector{};
  for (std::size_t i = 0; i < n; i += lanes) stream(y + i, v);
  end_of_stream();
}
/// 32 floating-point operations a lane and iteration, in 16 chains
inline void multiply_add(std::size_t iterations) {
  vector a[16], m = 0.999f - vector{}, k = 0.001f - vector{};
  for (int i = 0; i < 16; ++i) a[i] = static_cast<float>(i) - vector{};
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) a[j] = a[j] * m + k;
  }
  for (int i = 0; i < 16; ++i) asm volatile("" : : "x"(a[i][0]) : "memory");
}

}  // namespace loops
