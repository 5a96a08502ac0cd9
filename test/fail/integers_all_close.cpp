// SPDX-License-Identifier: Apache-2.0
// all_close of tensors of integers.
// expect: locus: all_close compares floating-point tensors; equal(a, b) compares integers
#include <locus/locus.hpp>
using namespace locus;

Tensor<int, Extents<4>> i;
#ifdef LOCUS_MUST_FAIL
bool misuse() { return all_close(i, i); }
#else
bool proper() { return equal(i, i); }
#endif
