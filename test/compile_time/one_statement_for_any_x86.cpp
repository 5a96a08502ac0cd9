// SPDX-License-Identifier: Apache-2.0
// one_statement.cpp with kernels for AVX2 and AVX-512 too, as an optimised unit has them.
// budget: 3865 instantiations (clang 14)
// budget: 59230 lines
#define LOCUS_TARGETS 3
#include "one_statement.cpp"
