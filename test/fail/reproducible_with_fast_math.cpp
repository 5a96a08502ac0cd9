// SPDX-License-Identifier: Apache-2.0
// A reproducible plan under a compiler that may round as it likes.
// expect: locus: reproducible numerics need a compiler that keeps to IEEE 754; leave out -ffast-math
#ifdef LOCUS_MUST_FAIL
#define __RECIPROCAL_MATH__ 1  // as -ffast-math does
#endif
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
auto rounded() { return eval<reproducible<>>(x + x); }
