// SPDX-License-Identifier: Apache-2.0
// Destinations that cannot be written, and runs of what is no assignment.
// expect-1: locus: into writes a Tensor that has a name and is no constant, a view, or a slice of a view or of a Tensor on one device; make one of these first
// expect-2: locus: into writes a Tensor that has a name and is no constant, a view, or a slice of a view or of a Tensor on one device; make one of these first
// expect-3: locus: into writes a Tensor that has a name and is no constant, a view, or a slice of a view or of a Tensor on one device; make one of these first
// expect-4: locus: into writes a Tensor that has a name and is no constant, a view, or a slice of a view or of a Tensor on one device; make one of these first
// expect-5: locus: run takes a plan or an assignment; write run(into(y, e)), or eval(e)
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> a;
Tensor<float, Extents<4>> const constant;
Tensor<float, Extents<4>, Mirrored<GpuDevice<0>, GpuDevice<1>>> mirrored;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return into(constant, 2.f * a); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return into(eval(a), 2.f * a); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return into(a + a, a); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return into(slice(mirrored, {0, 2}), a); }
#elif LOCUS_MUST_FAIL == 5
void misuse() { run(a + a); }
#else
auto proper() { return into(slice(a, {0, 2}), slice(2.f * constant, {0, 2})); }
#endif
