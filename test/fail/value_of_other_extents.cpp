// SPDX-License-Identifier: Apache-2.0
// Values assigned to tensors of other extents.
// expect-1: locus: the extents of a value do not fit its destination; make the tensor as large, or slice it; they are printed below
// expect-2: locus: the extents of a value do not fit its destination; make the tensor as large, or slice it; they are printed below
// expect-3: locus: the extents of a value do not fit its destination; make the tensor as large, or slice it; they are printed below
// expect-4: locus: the extents of a value do not fit its destination; make the tensor as large, or slice it; they are printed below
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 3>> a;
Tensor<float, Extents<dyn, 3>> any_rows(2);
#if LOCUS_MUST_FAIL == 1
void misuse() { a = transpose(a); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { a = sum(a); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return Tensor<float, Extents<2, 4>>(a + a); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return plan(into(any_rows, sum<0>(a))); }
#else
void proper() { any_rows = transpose(transpose(a)); }
#endif
