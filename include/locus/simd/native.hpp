// SPDX-License-Identifier: Apache-2.0
// The vector unit of the target: the width of its registers, and the few instructions without an
// operator in the vector extensions of g++ and clang++. The one table of instruction sets.
#if !defined(LOCUS_CLONE) && !defined(LOCUS_SIMD_NATIVE)
#define LOCUS_SIMD_NATIVE
#include <locus/core/macros.hpp>  // LOCUS_MODE, LOCUS_ISA_AVX512, LOCUS_ISA_AVX

#define LOCUS_CLONED <locus/simd/native.hpp>
#include <locus/simd/clones.hpp>  // reads this file once for each set of instructions
#elif defined(LOCUS_CLONE)
LOCUS_VECTORS_BEGIN
namespace LOCUS_SPACE(simd) {

/// means: bytes of one register of the vector unit: AVX-512, AVX, else 16 (SSE2, NEON)
inline constexpr int native_bytes = LOCUS_CLONE_AVX512 ? 64 : LOCUS_CLONE_AVX ? 32 : 16;

namespace detail {
template <class T, int N>
struct vector_of {
  static constexpr int bytes = N * int(sizeof(T));
  typedef T type __attribute__((vector_size(bytes)));
  typedef type in_packet __attribute__((aligned(bytes < native_bytes ? bytes : native_bytes)));
};
}  // namespace detail
/// means: N values of T in the compilers' vector extension. Functions take vectors of more than one
///        register by reference: g++ prints a note for each one passed by value and aligned to its
///        size, and no pragma silences the note
template <class T, int N>
using vector = typename detail::vector_of<T, N>::type;
/// means: the same as a member, aligned to a register, so that its class may be passed by value
template <class T, int N>
using vector_in_packet = typename detail::vector_of<T, N>::in_packet;

// Instructions for r[i] = f(x[i]): one overload for each register, and one that takes a vector of
// any length lane by lane.
#if LOCUS_ELEMENTWISE_BUILTINS
template <class V>
LOCUS_VECTOR_FUNCTION V sqrt_of(V const& x) {
  return __builtin_elementwise_sqrt(x);
}
#else
#if LOCUS_CLONE_AVX512
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
#if LOCUS_CLONE_AVX
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
#elif defined(__aarch64__)
LOCUS_VECTOR_FUNCTION vector<float, 4> sqrt_of(vector<float, 4> x) {
  asm("fsqrt %0.4s, %0.4s" : "+w"(x));
  return x;
}
LOCUS_VECTOR_FUNCTION vector<double, 2> sqrt_of(vector<double, 2> x) {
  asm("fsqrt %0.2d, %0.2d" : "+w"(x));
  return x;
}
#endif
template <class V>
LOCUS_VECTOR_FUNCTION V sqrt_of(V const& x) {
  V r{};
  for (unsigned i = 0; i < sizeof(V) / sizeof(x[0]); ++i)
    if constexpr (sizeof(x[0]) == 4)
      r[i] = __builtin_sqrtf(x[i]);
    else
      r[i] = __builtin_sqrt(x[i]);
  return r;
}
#endif

// a > b ? a : b and a < b ? a : b of floating values: b if one of them is NaN
#define LOCUS_EXTREMUM(name, symbol, builtin, masked)                      \
  template <class V>                                                       \
  LOCUS_VECTOR_FUNCTION V name(V const& a, V const& b) {                   \
    [[maybe_unused]] constexpr int bytes = sizeof(V), lane = sizeof(a[0]); \
    LOCUS_EXTREMUM_512(masked)                                             \
    LOCUS_EXTREMUM_256(builtin)                                            \
    LOCUS_EXTREMUM_128(builtin)                                            \
    return a symbol b ? a : b;                                             \
  }
#if LOCUS_CLONE_AVX512 && defined(__clang__)
#define LOCUS_EXTREMUM_512(name)                                                        \
  if constexpr (bytes == 64 && lane == 4) return __builtin_ia32_##name##ps512(a, b, 4); \
  if constexpr (bytes == 64 && lane == 8) return __builtin_ia32_##name##pd512(a, b, 4);
#elif LOCUS_CLONE_AVX512
#define LOCUS_EXTREMUM_512(name)                              \
  if constexpr (bytes == 64 && lane == 4)                     \
    return __builtin_ia32_##name##ps512_mask(a, b, a, -1, 4); \
  if constexpr (bytes == 64 && lane == 8) return __builtin_ia32_##name##pd512_mask(a, b, a, -1, 4);
#else
#define LOCUS_EXTREMUM_512(name)
#endif
#if LOCUS_CLONE_AVX
#define LOCUS_EXTREMUM_256(name)                                                     \
  if constexpr (bytes == 32 && lane == 4) return __builtin_ia32_##name##ps256(a, b); \
  if constexpr (bytes == 32 && lane == 8) return __builtin_ia32_##name##pd256(a, b);
#else
#define LOCUS_EXTREMUM_256(name)
#endif
#if defined(__SSE2__)
#define LOCUS_EXTREMUM_128(name)                                                  \
  if constexpr (bytes == 16 && lane == 4) return __builtin_ia32_##name##ps(a, b); \
  if constexpr (bytes == 16 && lane == 8) return __builtin_ia32_##name##pd(a, b);
#else
#define LOCUS_EXTREMUM_128(name)
#endif
LOCUS_EXTREMUM(larger_of, >, max, max)
LOCUS_EXTREMUM(smaller_of, <, min, min)
#undef LOCUS_EXTREMUM
#undef LOCUS_EXTREMUM_512
#undef LOCUS_EXTREMUM_256
#undef LOCUS_EXTREMUM_128

/// means: a b + c with one rounding
template <class V>
LOCUS_VECTOR_FUNCTION V fused(V a, V b, V c) {
#if LOCUS_ELEMENTWISE_BUILTINS
  return __builtin_elementwise_fma(a, b, c);
#else
#if LOCUS_CLONE_AVX512
#if defined(__clang__)
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 4)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, 65535, 4);
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 8)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, 255, 4);
#else
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 4)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
  if constexpr (sizeof(V) == 64 && sizeof(a[0]) == 8)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, 4);
#endif
#endif
#if LOCUS_CLONE_FMA && LOCUS_CLONE_AVX
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
#endif
}

/// from this size on registers have all instructions of the target, with equal results for all
/// sizes
inline constexpr int least_bytes = LOCUS_CLONE_AVX512 ? 64 : 16;
/// means: a b + c: one rounding if that is one instruction, else two
template <class V>
LOCUS_VECTOR_FUNCTION V multiply_add(V a, V b, V c) {
  if constexpr (LOCUS_CLONE_FMA || LOCUS_CLONE_AVX512)
    return fused(a, b, c);
  else
    return a * b + c;
}

// every lane, for instructions with a mask
#if defined(__clang__)
inline constexpr unsigned short every_float = 0xffff;
inline constexpr unsigned char every_double = 0xff;
#else
inline constexpr short every_float = -1;
inline constexpr signed char every_double = -1;
#endif
// least(a, b) = a < b ? a : b, and greatest likewise: NaN in b stays. scaled(x, n): x 2^n for
// integer n, rounded once, 0 or inf beyond the range; only where has_scaled.
#if LOCUS_CLONE_AVX512
#if defined(__clang__)
#define LOCUS_EXTREME(name, V, p) \
  LOCUS_VECTOR_FUNCTION V name(V a, V b) { return __builtin_ia32_##p##512(a, b, 4); }
#else
#define LOCUS_EXTREME(name, V, p) \
  LOCUS_VECTOR_FUNCTION V name(V a, V b) { return __builtin_ia32_##p##512_mask(a, b, a, -1, 4); }
#endif
using floats_512 = vector<float, 16>;
using doubles_512 = vector<double, 8>;
LOCUS_EXTREME(least, floats_512, minps)
LOCUS_EXTREME(least, doubles_512, minpd)
LOCUS_EXTREME(greatest, floats_512, maxps)
LOCUS_EXTREME(greatest, doubles_512, maxpd)
#undef LOCUS_EXTREME
LOCUS_VECTOR_FUNCTION floats_512 scaled(floats_512 x, floats_512 n) {
  return __builtin_ia32_scalefps512_mask(x, n, x, every_float, 4);
}
LOCUS_VECTOR_FUNCTION doubles_512 scaled(doubles_512 x, doubles_512 n) {
  return __builtin_ia32_scalefpd512_mask(x, n, x, every_double, 4);
}
#endif
template <class V>
LOCUS_VECTOR_FUNCTION V least(V a, V b) {
  return a < b ? a : b;
}
template <class V>
LOCUS_VECTOR_FUNCTION V greatest(V a, V b) {
  return a > b ? a : b;
}
template <class V>
inline constexpr bool has_scaled = LOCUS_CLONE_AVX512 && sizeof(V) == 64;

// wider(x, To{}): converts x, half a register, to lanes twice as wide. Without these functions
// g++ 12 converts x by two instructions and joins the results by a third.
#if LOCUS_CLONE_AVX512 && !defined(__clang__)
LOCUS_VECTOR_FUNCTION vector<double, 8> wider(vector<float, 8> x, double) {
  return __builtin_ia32_cvtps2pd512_mask(x, vector<double, 8>{}, every_double, 4);
}
LOCUS_VECTOR_FUNCTION vector<double, 8> wider(vector<int, 8> x, double) {
  return __builtin_ia32_cvtdq2pd512_mask(x, vector<double, 8>{}, every_double);
}
LOCUS_VECTOR_FUNCTION vector<long, 8> wider(vector<int, 8> x, long) {
  return (vector<long, 8>)__builtin_ia32_pmovsxdq512_mask(x, vector<long long, 8>{}, every_double);
}
LOCUS_VECTOR_FUNCTION vector<int, 16> wider(vector<short, 16> x, int) {
  return __builtin_ia32_pmovsxwd512_mask(x, vector<int, 16>{}, every_float);
}
#endif
#if LOCUS_CLONE_AVX && !defined(__clang__)
LOCUS_VECTOR_FUNCTION vector<double, 4> wider(vector<float, 4> x, double) {
  return __builtin_ia32_cvtps2pd256(x);
}
#endif

/// means: x[i] > limit[i] for some i, of unsigned integers
template <class U>
LOCUS_VECTOR_FUNCTION bool any_above(U x, U limit) {
  [[maybe_unused]] constexpr bool words = sizeof(x[0]) == 4;
#if LOCUS_CLONE_AVX512
  if constexpr (sizeof(U) == 64 && words)
    return __builtin_ia32_ucmpd512_mask((vector<int, 16>)x, (vector<int, 16>)limit, 6,
                                        every_float) != 0;
  else if constexpr (sizeof(U) == 64)
    return __builtin_ia32_ucmpq512_mask((vector<long long, 8>)x, (vector<long long, 8>)limit, 6,
                                        every_double) != 0;
#endif
#if LOCUS_CLONE_AVX
  if constexpr (sizeof(U) == 32 && words)
    return __builtin_ia32_movmskps256((vector<float, 8>)(x > limit)) != 0;
  else if constexpr (sizeof(U) == 32)
    return __builtin_ia32_movmskpd256((vector<double, 4>)(x > limit)) != 0;
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(U) == 16 && words)
    return __builtin_ia32_movmskps((vector<float, 4>)(x > limit)) != 0;
  else if constexpr (sizeof(U) == 16)
    return __builtin_ia32_movmskpd((vector<double, 2>)(x > limit)) != 0;
#elif defined(__aarch64__)
  if constexpr (sizeof(U) == 16) {
    auto const halves = (vector<long, 2>)(x > limit);
    return (halves[0] | halves[1]) != 0;
  }
#endif
  bool any = false;
  for (unsigned i = 0; i < sizeof(U) / sizeof(x[0]); ++i) any = any || x[i] > limit[i];
  return any;
}

/// means: x; -ffast-math does not combine the operations before it with those after it
template <class V>
LOCUS_VECTOR_FUNCTION V as_written(V x) {
#if LOCUS_FAST_MATH && LOCUS_CLONE_AVX512
  asm("" : "+v"(x));
#elif LOCUS_FAST_MATH && defined(__SSE2__)
  asm("" : "+x"(x));
#elif LOCUS_FAST_MATH && defined(__aarch64__)
  asm("" : "+w"(x));
#elif LOCUS_FAST_MATH
  asm("" : "+m"(x));
#endif
  return x;
}

/// means: {a0, b0, a1, b1} and {a2, b2, a3, b3}; of vectors of two {a0, b0} and {a1, b1}
#if defined(__CUDACC__)  // nvcc's front end has no shuffles
template <class V>
LOCUS_VECTOR_FUNCTION V interleave_low(V a, V b) {
  if constexpr (sizeof(a[0]) == 8)
    return V{a[0], b[0]};
  else
    return V{a[0], b[0], a[1], b[1]};
}
template <class V>
LOCUS_VECTOR_FUNCTION V interleave_high(V a, V b) {
  if constexpr (sizeof(a[0]) == 8)
    return V{a[1], b[1]};
  else
    return V{a[2], b[2], a[3], b[3]};
}
#else
template <class V>
LOCUS_VECTOR_FUNCTION V interleave_low(V a, V b) {
  if constexpr (sizeof(a[0]) == 8)
    return __builtin_shufflevector(a, b, 0, 2);
  else
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
template <class V>
LOCUS_VECTOR_FUNCTION V interleave_high(V a, V b) {
  if constexpr (sizeof(a[0]) == 8)
    return __builtin_shufflevector(a, b, 1, 3);
  else
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
#endif

/// means: *p = x without the caches; p is a multiple of the vector's size
template <class V>
LOCUS_VECTOR_FUNCTION void stream(void* p, V x) {
#if defined(__clang__)
  __builtin_nontemporal_store(x, static_cast<V*>(p));
#else
#if LOCUS_CLONE_AVX512
  if constexpr (sizeof(V) == 64)
    return __builtin_ia32_movntps512(static_cast<float*>(p), (vector<float, 16>)x);
#endif
#if LOCUS_CLONE_AVX
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
/// means: other threads see the streamed data before this thread's next stores
inline void end_of_stream() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace LOCUS_SPACE(simd)
LOCUS_VECTORS_END
#endif
