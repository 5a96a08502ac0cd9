// SPDX-License-Identifier: Apache-2.0
// Sorts: axes that are not there, elements without keys, pieces along the axis.
// expect-1: locus: a sort names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: sort and argsort take floats, int32 and int64; write sort<0>(cast<int>(x))
// expect-3: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
#include <locus/algorithms/sort.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
Tensor<float, Extents<4, 3>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(sort<2>(x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(argsort<0>(flags)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(sort<0>(rows)); }
#else
auto proper() { return eval(grad(sum(sort<0>(x)), x)); }
#endif
