// SPDX-License-Identifier: Apache-2.0
// Operands, products and views cut along axes that do not meet.
// expect-1: locus: operands are cut along axes that do not meet; gather one first with to<Mirrored<...>>(x)
// expect-2: locus: matmul of these cuts would gather an operand; say so with to<Mirrored<...>>(x)
// expect-3: locus: a slice, an at, a reshape or a concatenate goes across the cut; gather first with to<Device>(x), or write interior<1>(x), slice<0, 1, -1>(x), whose ends the type knows
// expect-4: locus: a slice, an at, a reshape or a concatenate goes across the cut; gather first with to<Device>(x), or write interior<1>(x), slice<0, 1, -1>(x), whose ends the type knows
// expect-5: locus: on<Device> around a value that is distributed; gather it first with to<Device>(x)
// expect-6: locus: an operand of extent 1 is cut along the axis on which it would stretch; give each replica a whole one with to<Mirrored<...>>(x)
// expect-7: locus: a slice, an at, a reshape or a concatenate goes across the cut; gather first with to<Device>(x), or write interior<1>(x), slice<0, 1, -1>(x), whose ends the type knows
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4, 4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> rows;
Tensor<float, Extents<4, 4>, Sharded<1, GpuDevice<0>, GpuDevice<1>>> columns;
Tensor<float, Extents<1, 4>, Sharded<0, GpuDevice<0>, GpuDevice<1>>> one_row;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(rows + columns); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(matmul(rows, rows)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(slice<0, 1, 3>(rows)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(concatenate<0>(rows, rows)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(on<GpuDevice<0>>(2.f * rows)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(rows + one_row); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(row_at(rows, 1)); }
#else
auto parts() { return eval(column_at(rows, 1) + row_at(columns, 1)); }
auto proper() { return eval(rows + to<Mirrored<GpuDevice<0>, GpuDevice<1>>>(columns)); }
#endif
