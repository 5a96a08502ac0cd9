// SPDX-License-Identifier: Apache-2.0
// Includes the file LOCUS_CLONED once for each set of instructions that this unit makes kernels
// for: first for its own, then for wider sets, whose functions carry the instructions as an
// attribute. Not guarded: it is included once for each such file.
#include <locus/simd/instructions.hpp>  // LOCUS_CLONES_AVX2, LOCUS_CLONES_AVX512
#include <locus/simd/vectors.hpp>       // LOCUS_VECTORS_BEGIN, LOCUS_VECTOR_FUNCTION

// Macros for the included file:
// LOCUS_CLONE            defined: the file is included by this header
// LOCUS_SPACE(simd)      the namespace for its code
// LOCUS_CLONE_AVX512, _AVX, _FMA, _F16C   the instructions of this inclusion, like LOCUS_ISA_AVX512
#if defined(LOCUS_CLONED)
#define LOCUS_CLONE 0
#define LOCUS_SPACE(...) locus::__VA_ARGS__::inline LOCUS_MODE
#define LOCUS_CLONE_AVX512 LOCUS_ISA_AVX512
#define LOCUS_CLONE_AVX LOCUS_ISA_AVX
#define LOCUS_CLONE_FMA LOCUS_ISA_FMA
#define LOCUS_CLONE_F16C LOCUS_ISA_F16C
#include LOCUS_CLONED
#undef LOCUS_SPACE
#undef LOCUS_CLONE_AVX512
#undef LOCUS_CLONE_AVX
#undef LOCUS_CLONE_FMA
#undef LOCUS_CLONE_F16C

#define LOCUS_CLONE_FMA 1
#define LOCUS_CLONE_F16C 1
#if LOCUS_CLONES_AVX2
#define LOCUS_CLONE_AVX512 0
#define LOCUS_CLONE_AVX 2
#define LOCUS_SPACE(...) locus::for_avx2::__VA_ARGS__::inline LOCUS_MODE
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"  // in some files stands no function
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#include LOCUS_CLONED
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#undef LOCUS_SPACE
#undef LOCUS_CLONE_AVX512
#undef LOCUS_CLONE_AVX
#endif

#if LOCUS_CLONES_AVX512
#define LOCUS_CLONE_AVX512 1
#define LOCUS_CLONE_AVX 2
#define LOCUS_SPACE(...) locus::for_avx512::__VA_ARGS__::inline LOCUS_MODE
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"
#pragma clang attribute push(                                                    \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
#endif
#include LOCUS_CLONED
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#undef LOCUS_SPACE
#undef LOCUS_CLONE_AVX512
#undef LOCUS_CLONE_AVX
#endif
#undef LOCUS_CLONE_FMA
#undef LOCUS_CLONE_F16C
#undef LOCUS_CLONE
#undef LOCUS_CLONED
#endif
