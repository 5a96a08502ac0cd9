// SPDX-License-Identifier: Apache-2.0
// Values assigned to tensors of another element type.
// expect-1: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-2: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-3: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-4: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-5: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
// expect-6: locus: a value of another element type is assigned; write cast<float>(e), or the type of its destination
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 3>> f;
Tensor<double, Extents<2, 3>> d;
#if LOCUS_MUST_FAIL == 1
void misuse() { f = d; }
#elif LOCUS_MUST_FAIL == 2
void misuse() { f = cast<int>(f) + 1; }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return Tensor<int, Extents<2, 3>>(2.f * f); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return plan(into(f, d * d)); }
#elif LOCUS_MUST_FAIL == 5
void misuse(float* data) { view<CpuDevice>(data, Extents<2, 3>{}) = d; }
#elif LOCUS_MUST_FAIL == 6
void misuse() { no_alias(f) = d; }
#else
void proper() { f = cast<float>(d); }
#endif
