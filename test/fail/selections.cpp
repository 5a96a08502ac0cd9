// SPDX-License-Identifier: Apache-2.0
// Selections: axes that are not there, or none, masks that are no list of booleans, pieces along the axis.
// expect-1: locus: compress names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: the mask of compress and of select is one list of booleans; write compress(m != 0, x), and reshape<n>(...) of mask and values with more axes
// expect-3: locus: the mask of compress and of select is one list of booleans; write compress(m != 0, x), and reshape<n>(...) of mask and values with more axes
// expect-4: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-5: locus: the shapes of the operands of a functor do not fit; they are printed below
// expect-6: locus: nonzero takes a tensor with axes, along which places lie; write fetch(x) != 0
// expect-7: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-8: locus: run_lengths and unique take one list of elements; write unique(reshape<n>(x))
// expect-9: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
#include <locus/algorithms/compress.hpp>
#include <locus/algorithms/nonzero.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<bool, Extents<4>> mask;
Tensor<int, Extents<4>> counts;
Tensor<bool, Extents<3>> fewer;
Tensor<float, Extents<4, 3>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
Tensor<float, Extents<4>, Sharded<0, Cpu<0>, Cpu<1>>> pieces;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(result<0>(compress<2>(mask, x))); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return select(x, counts); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return select(x, x > 0.); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return select(rows, mask); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return select(x, fewer); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return trim(nonzero(sum(x))); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return trim(nonzero(rows)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return trim(unique(x)); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return trim(run_lengths(pieces)); }
#else
auto proper() { return trim(nonzero(select(x, mask))); }
#endif
