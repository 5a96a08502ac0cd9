// SPDX-License-Identifier: Apache-2.0
// Arrays that store their first axis contiguously.
// expect-1: locus: a ColumnMajor array lies on one device; write CpuDevice or GpuDevice<0>, or a Tensor for replicas and pieces
// expect-2: locus: a ColumnMajor array is asked for an element with another number of indices; write one for each axis
#include <locus/locus.hpp>
#include <locus/tensor/column_major.hpp>
using namespace locus;

#if LOCUS_MUST_FAIL == 1
ColumnMajor<float, Extents<2, 3>, Mirrored<GpuDevice<0>, GpuDevice<1>>> x;
#elif LOCUS_MUST_FAIL == 2
float misuse(ColumnMajor<float, Extents<2, 3>> const& x) { return x(1); }
#else
float proper(ColumnMajor<float, Extents<2, 3>> const& x) { return x(1, 2); }
ColumnMajor<float, Dextents<2>, GpuDevice<0>> y(2, 3);
#endif
