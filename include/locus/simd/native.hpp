// SPDX-License-Identifier: Apache-2.0
// What the vector unit of the target offers: the width, and the few instructions that have no
// operator in the vector extensions of g++ and clang++. The one table of instruction sets.
#pragma once
#include <locus/core/config.hpp>  // LOCUS_MODE, LOCUS_ISA_AVX512, LOCUS_ISA_AVX

// LOCUS_VECTORS_BEGIN, _END  around functions that take or return vectors: the compilers warn of
//                            their calling convention, and all of these are inlined
// LOCUS_VECTOR_FUNCTION      in front of such a function
#define LOCUS_VECTOR_FUNCTION [[gnu::always_inline]] inline
#if defined(__CUDACC__)  // 549: its front end loses sight of initialisers where packs are expanded
#define LOCUS_VECTORS_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 549")
#define LOCUS_VECTORS_END _Pragma("nv_diagnostic pop")
#else
#define LOCUS_VECTORS_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpsabi\"")
#define LOCUS_VECTORS_END _Pragma("GCC diagnostic pop")
#endif

LOCUS_VECTORS_BEGIN
namespace locus::simd {
inline namespace LOCUS_MODE {

/// means: bytes of one register of the vector unit: AVX-512, AVX, else 16 (SSE2, NEON)
inline constexpr int native_bytes = LOCUS_ISA_AVX512 ? 64 : LOCUS_ISA_AVX ? 32 : 16;

namespace detail {
template <class T, int N>
struct vector_of {
  typedef T type __attribute__((vector_size(N * int(sizeof(T)))));
};
}  // namespace detail
/// means: N values of T as the compilers' vector extension has them
template <class T, int N>
using vector = typename detail::vector_of<T, N>::type;

// What instructions[i] = f(x[i]) there are: one overload for each register, and one that takes a
// vector of any length lane by lane.
#if LOCUS_ISA_AVX512
#if defined(__clang__)
LOCUS_VECTOR_FUNCTION vector<float, 16> sqrt_of(vector<float, 16> x) {
  return __builtin_ia32_sqrtps512(x, 4);
}
LOCUS_VECTOR_FUNCTION vector<double, 8> sqrt_of(vector<double, 8> x) {
  return __builtin_ia32_sqrtpd512(x, 4);
}
#else
LOCUS_VECTOR_FUNCTION vector<float, 16> sqrt_of(vector<float, 16> x) {
  return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
}
LOCUS_VECTOR_FUNCTION vector<double, 8> sqrt_of(vector<double, 8> x) {
  return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4);
}
#endif
#endif
#if LOCUS_ISA_AVX
LOCUS_VECTOR_FUNCTION vector<float, 8> sqrt_of(vector<float, 8> x) {
  return __builtin_ia32_sqrtps256(x);
}
LOCUS_VECTOR_FUNCTION vector<double, 4> sqrt_of(vector<double, 4> x) {
  return __builtin_ia32_sqrtpd256(x);
}
#endif
#if defined(__SSE2__)
LOCUS_VECTOR_FUNCTION vector<float, 4> sqrt_of(vector<float, 4> x) {
  return __builtin_ia32_sqrtps(x);
}
LOCUS_VECTOR_FUNCTION vector<double, 2> sqrt_of(vector<double, 2> x) {
  return __builtin_ia32_sqrtpd(x);
}
#endif
template <class V>
LOCUS_VECTOR_FUNCTION V sqrt_of(V x) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(x[0]); ++i)
    x[i] = sizeof(x[0]) == 4 ? __builtin_sqrtf(static_cast<float>(x[i])) : __builtin_sqrt(x[i]);
  return x;
}

/// means: a b + c with one rounding
template <class V>
LOCUS_VECTOR_FUNCTION V fused(V a, V b, V c) {
#if LOCUS_ISA_AVX512
#if defined(__clang__)
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 4)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, 65535, 4);
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 8)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, 255, 4);
#else
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 4)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 8)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
#endif
#endif
#if LOCUS_ISA_FMA && LOCUS_ISA_AVX
  if constexpr (sizeof(V) == 32 && sizeof(a[0]) == 4) return __builtin_ia32_vfmaddps256(a, b, c);
  if constexpr (sizeof(V) == 32 && sizeof(a[0]) == 8) return __builtin_ia32_vfmaddpd256(a, b, c);
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 4) return __builtin_ia32_vfmaddps(a, b, c);
  if constexpr (sizeof(V) == 16 && sizeof(a[0]) == 8) return __builtin_ia32_vfmaddpd(a, b, c);
#endif
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i)
    if constexpr (sizeof(a[0]) == 4)
      a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    else
      a[i] = __builtin_fma(a[i], b[i], c[i]);
  return a;
}

/// means: *p = x past the caches; p lies at a multiple of the vector's size
template <class V>
LOCUS_VECTOR_FUNCTION void stream(void* p, V x) {
#if defined(__clang__)
  __builtin_nontemporal_store(x, static_cast<V*>(p));
#else
#if LOCUS_ISA_AVX512
  if constexpr (sizeof(V) == 64)
    return __builtin_ia32_movntps512(static_cast<float*>(p), (vector<float, 16>)x);
#endif
#if LOCUS_ISA_AVX
  if constexpr (sizeof(V) == 32)
    return __builtin_ia32_movntps256(static_cast<float*>(p), (vector<float, 8>)x);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16)
    return __builtin_ia32_movntps(static_cast<float*>(p), (vector<float, 4>)x);
#endif
  *static_cast<V*>(p) = x;
#endif
}
/// means: what was streamed is seen by others before what this thread writes next
inline void end_of_stream() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace LOCUS_MODE
}  // namespace locus::simd
LOCUS_VECTORS_END
