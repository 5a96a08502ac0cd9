// SPDX-License-Identifier: Apache-2.0
// Macros around functions of vectors.
#pragma once
#include <locus/core/compiler.hpp>  // C++20, 64 bits, exceptions

// LOCUS_VECTORS_BEGIN, _END  around functions that take or return vectors: compilers warn that their
//                            calling convention depends on the unit's instructions. Here units of
//                            other instructions have functions of other names (LOCUS_MODE)
// LOCUS_VECTOR_FUNCTION      in front of such a function. Units with -O inline it; units without -O
//                            call it, since a fold would have many copies of it
#if defined(__OPTIMIZE__)
#define LOCUS_VECTOR_FUNCTION [[gnu::always_inline]] inline
#else
#define LOCUS_VECTOR_FUNCTION inline
#endif
// Diagnostics of nvcc's front end that are off here. 549: it misses initialisers in pack
// expansions; 128: a loop behind an instruction that replaces the loop is never reached; 68: masks
// of its builtins have other signs than those of the compilers
#if defined(__CUDACC__)
#define LOCUS_VECTORS_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 549,68,128")
#define LOCUS_VECTORS_END _Pragma("nv_diagnostic pop")
#else
#define LOCUS_VECTORS_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpsabi\"")
#define LOCUS_VECTORS_END _Pragma("GCC diagnostic pop")
#endif
