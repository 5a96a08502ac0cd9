// SPDX-License-Identifier: Apache-2.0
// Arrays that store their first axis contiguously.
// expect-1: locus: a ColumnMajor array lies on one device; write CpuDevice or GpuDevice<0>, or a Tensor for replicas and pieces
// expect-2: locus: a ColumnMajor array is asked for an element with another number of indices; write one for each axis
// expect-3: locus: a part is written of a view, or of a Tensor that has a name, is no constant and lies on one device or in pieces; a part of a part only on one device
#include <locus/locus.hpp>
#include <locus/tensor/column_major.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
ColumnMajor<float, Extents<2, 3>, Mirrored<GpuDevice<0>, GpuDevice<1>>> x;
#elif LOCUS_MUST_FAIL == 2
float misuse(ColumnMajor<float, Extents<2, 3>> const& x) { return x(1); }
#elif LOCUS_MUST_FAIL == 3
void misuse(ColumnMajor<float, Extents<2, 3>> const& x) { row_at(x, 1) = 0.f; }
#else
void writes(ColumnMajor<float, Extents<2, 3>>& x) { row_at(x, 1) = 0.f; }
float proper(ColumnMajor<float, Extents<2, 3>> const& x) { return x(1, 2); }
ColumnMajor<float, Dextents<2>, GpuDevice<0>> y(2, 3);
#endif
