// SPDX-License-Identifier: Apache-2.0
// Stencils: rows that no margin holds, parts that do not meet, halos in the wrong place.
// expect-1: locus: a stencil reads rows of other pieces that its operand does not keep; write Halo<W> last in Sharded<0, ...> of the tensor, as wide as the stencil, and assign computed operands to such a tensor first
// expect-2: locus: a stencil reads rows of other pieces that its operand does not keep; write Halo<W> last in Sharded<0, ...> of the tensor, as wide as the stencil, and assign computed operands to such a tensor first
// expect-3: locus: a stencil reads rows of other pieces that its operand does not keep; write Halo<W> last in Sharded<0, ...> of the tensor, as wide as the stencil, and assign computed operands to such a tensor first
// expect-4: locus: parts of pieces meet that leave out different numbers of rows; write parts of one size, as interior<1, 0, 1>(x) and interior<1, 0, -1>(y)
// expect-5: locus: a part of a value in pieces has no pieces of its own; write run(into(interior<1>(y), e)) for a part of as many rows, or fetch(e)
// expect-6: locus: a product, a call or a concatenate reads a part of pieces; assign the part to a tensor with run(into(interior<1>(y), e)) and read that, or gather first with to<Device>(x)
// expect-7: locus: a slice across the cut is written whose ends the type does not know, or that leaves out more than 32 rows; write interior<1>(y), or slice<0, 1, -1>(y)
// expect-8: locus: a Halo keeps rows beside pieces; write it last in Sharded<0, ...>
// expect-9: locus: a Halo keeps rows beside pieces that are cut along axis 0; cut axis 0, or transpose the data
// expect-10: locus: a Halo is 1 to 8 rows wide; write Halo<1>
// expect-11: locus: a Halo stands last in the list; write Sharded<0, GpuDevice<0>, GpuDevice<1>, Halo<1>>
// expect-12: locus: interior moves along each axis; write interior<1, -1, 0>(x) of a matrix, or interior<1>(x)
// expect-13: locus: interior moves by at most its width, which is 0 to 16; write interior<2, -2>(x)
// expect-14: locus: shift needs to know what lies beyond the ends; write shift<0, 1, beyond::keep>(x), or Halo<1, beyond::keep> in the type of x
// expect-15: locus: shift along the cut reads the margins of a tensor, whose rule is another; write the same rule in its Halo, as Halo<1, beyond::wrap>
// expect-16: locus: shift names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-17: locus: shift moves by -8 to 8 rows; write roll or slices for more
// expect-18: locus: an extent is open, so the parts of a halo exchange are no constant; call tally_of(e), or assert halo_exchanges(), launches()
// expect-19: locus: a slice, an at, a reshape or a concatenate goes across the cut; gather first with to<Device>(x), or write interior<1>(x), slice<0, 1, -1>(x), whose ends the type knows
// expect-20: locus: shift moves more rows than its operand has; give it as many rows as it moves by, or write beyond::wrap
#include <locus/algorithms/shift.hpp>
#include <locus/locus.hpp>
using namespace locus;

template <class... More>
using Pieces = Sharded<0, GpuDevice<0>, GpuDevice<1>, More...>;
Tensor<float, Dextents<2>, Pieces<Halo<1>>> x, y;
Tensor<float, Dextents<2>, Pieces<>> bare;
Tensor<float, Dextents<2>> on_host;
#if LOCUS_MUST_FAIL == 1
void misuse() { run(into(interior<2>(y), interior<2, 2, 0>(x))); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { run(into(interior<1>(y), interior<1, 1, 0>(bare) * 2.f)); }
#elif LOCUS_MUST_FAIL == 3
void misuse() { run(into(interior<1>(y), interior<1, 1, 0>(x * 2.f) * 2.f)); }
#elif LOCUS_MUST_FAIL == 4
void misuse() { run(into(interior<1>(y), interior<1>(x) + slice<1, 1, -1>(x))); }
#elif LOCUS_MUST_FAIL == 5
void misuse() { auto r = eval(interior<1>(x) * 2.f); }
#elif LOCUS_MUST_FAIL == 6
void misuse() { auto r = fetch(matmul(interior<1>(x), on_host)); }
#elif LOCUS_MUST_FAIL == 7
void misuse() { run(into(slice(y, {1, 3}), x)); }
#elif LOCUS_MUST_FAIL == 8
Tensor<float, Dextents<1>, Mirrored<GpuDevice<0>, Halo<1>>> misuse;
#elif LOCUS_MUST_FAIL == 9
Tensor<float, Dextents<2>, Sharded<1, GpuDevice<0>, GpuDevice<1>, Halo<1>>> misuse;
#elif LOCUS_MUST_FAIL == 10
Tensor<float, Dextents<2>, Pieces<Halo<0>>> misuse;
#elif LOCUS_MUST_FAIL == 11
Tensor<float, Dextents<2>, Sharded<0, Halo<1>, GpuDevice<0>>> misuse;
#elif LOCUS_MUST_FAIL == 12
void misuse() { interior<1, 1>(x); }
#elif LOCUS_MUST_FAIL == 13
void misuse() { interior<1, 2, 0>(x); }
#elif LOCUS_MUST_FAIL == 14
void misuse() { on_host = shift<0, 1>(on_host); }
#elif LOCUS_MUST_FAIL == 15
void misuse() { y = shift<0, 1, beyond::wrap>(x); }
#elif LOCUS_MUST_FAIL == 16
void misuse() { on_host = shift<2, 1, beyond::wrap>(on_host); }
#elif LOCUS_MUST_FAIL == 17
void misuse() { on_host = shift<0, 9, beyond::wrap>(on_host); }
#elif LOCUS_MUST_FAIL == 18
int misuse() { return decltype(plan(into(interior<1>(y), interior<1, 1, 0>(x) * 2.f)))::copies(); }
#elif LOCUS_MUST_FAIL == 19
void misuse() { auto r = fetch(slice(x, {1, 3})); }
#elif LOCUS_MUST_FAIL == 20
Tensor<float, Extents<2, 5>> few_rows;
void misuse() { few_rows = shift<0, -3, beyond::keep>(few_rows); }
#else
Tensor<float, Dextents<2>, Pieces<Halo<2, beyond::wrap>>> ring;
Tensor<float, Dextents<2>, Sharded<0, Balanced, GpuDevice<0>, GpuDevice<1>, Halo<8>>> wide;
void proper() {
  run(into(interior<1>(y), interior<1, 1, 0>(x) * 2.f));
  run(into(interior<1>(y), interior<1>(bare) * 2.f));
  auto r = fetch(interior<1>(x));
  ring = shift<0, 1>(ring) + shift<0, -2, beyond::wrap>(ring) + shift<1, 1, beyond::zero>(ring);
  on_host = shift<0, 1, beyond::keep>(on_host);
}
#endif
