// SPDX-License-Identifier: Apache-2.0
// What stands around functions on vectors.
#pragma once
#include <locus/core/compiler.hpp>  // what a compiler must have

// LOCUS_VECTORS_BEGIN, _END  around functions that take or return vectors: the compilers warn of
//                            their calling convention, and all of these are inlined
// LOCUS_VECTOR_FUNCTION      in front of such a function
#define LOCUS_VECTOR_FUNCTION [[gnu::always_inline]] inline
// nvcc: 549: its front end loses sight of initialisers where packs are expanded; 128: a loop behind the
// one instruction that does its work; 68: it has masks of
// other signs than the compilers
#if defined(__CUDACC__)
#define LOCUS_VECTORS_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 549,68,128")
#define LOCUS_VECTORS_END _Pragma("nv_diagnostic pop")
#else
#define LOCUS_VECTORS_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpsabi\"")
#define LOCUS_VECTORS_END _Pragma("GCC diagnostic pop")
#endif
