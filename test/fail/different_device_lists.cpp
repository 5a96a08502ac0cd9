// SPDX-License-Identifier: Apache-2.0
// Operands distributed over different device lists.
// expect-1: locus: operands are distributed over different device lists; gather one first with to<Device>(x)
// expect-2: locus: operands are distributed over different device lists; gather one first with to<Device>(x)
// expect-3: locus: operands are distributed over different device lists; gather one first with to<Device>(x)
// expect-4: locus: operands are distributed over different device lists; gather one first with to<Device>(x)
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<1>>> two;
Tensor<float, Extents<4>, Mirrored<GpuDevice<1>, GpuDevice<0>>> swapped;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(two + swapped); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { two = 2.f * swapped; }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return plan(into(two, 2.f * swapped)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return device_of<decltype(two + swapped)>; }
#else
auto proper() { return eval(two + to<CpuDevice>(swapped)); }
#endif
