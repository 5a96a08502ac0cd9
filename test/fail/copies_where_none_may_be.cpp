// SPDX-License-Identifier: Apache-2.0
// require_no_copies of what copies.
// expect-1: locus: this assignment copies between devices; print plan(...).explain() to see where
// expect-2: locus: this plan copies between devices; print its explain() to see where
// expect-3: locus: this expression copies between devices; print plan_of<E>.explain() to see where
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
Tensor<float, Extents<4>, GpuDevice<0>> y;
#if LOCUS_MUST_FAIL == 1
void misuse() { require_no_copies(into(x, 2.f * y)); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { require_no_copies(plan(into(x, 2.f * y))); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { require_no_copies(x + y); }
#else
void proper() { require_no_copies(into(y, 2.f * y)); }
#endif
