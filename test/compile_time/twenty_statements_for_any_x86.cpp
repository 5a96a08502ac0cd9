// SPDX-License-Identifier: Apache-2.0
// twenty_statements.cpp with kernels for AVX2 and AVX-512 too, as an optimised unit has them.
// budget: 7235 instantiations (clang 14)
#define LOCUS_TARGETS 3
#include "twenty_statements.cpp"
