// SPDX-License-Identifier: Apache-2.0
// roll, flip, pad, diagonal: axes that are not there, pieces along the axis, negative widths, values of another kind.
// expect-1: locus: roll or flip names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: pad names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-3: locus: pad adds a negative number of elements; write slice<0, 1, -1>(x) to leave elements out
// expect-4: locus: diagonal reads a matrix; write reshape<3, 3>(x), or sum over the other axes
// expect-5: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-6: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-7: locus: pad adds a number of the elements' kind; write cast, or a number of that type
// expect-8: locus: pad adds a number of the elements' kind; write cast, or a number of that type
#include <locus/algorithms/moves.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<double, Extents<4>> v;
Tensor<int, Extents<4>> whole_numbers;
Tensor<float, Extents<4, 3>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(roll<2>(x, 1)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(pad<-3>(x, 1, 1)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(pad<0, -1, 0>(x)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(diagonal(v)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(roll<0>(rows, 1)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(diagonal(rows)); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(pad<0>(whole_numbers, 1, 1, 0.5)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(pad<0, 1, 1>(v, true)); }
#else
auto proper() { return eval(roll<1>(rows, 1)); }
auto besides() { return eval(pad<0, 1, 1>(x, 2) + pad<0>(x, 1, 1)); }
#endif
