// SPDX-License-Identifier: Apache-2.0
// Sorts: axes that are not there, elements without keys, other shapes of values, pieces along the axis.
// expect-1: locus: a sort names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: sort and argsort take numbers with an order; write sort<0>(cast<int>(x)) for booleans, and sort<0>(abs(x)) or sort<0>(real(x)) for complex numbers
// expect-3: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-4: locus: sort_by_key names an axis that its operands do not have; axes count from 0, or from -1 backwards
// expect-5: locus: sort_by_key takes keys with an order; write sort_by_key<0>(cast<int>(keys), values) for booleans, and sort_by_key<0>(abs(keys), values) for complex numbers
// expect-6: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-7: locus: the shapes of the operands of a functor do not fit; they are printed below
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<int, Extents<4, 3>> rows_of_keys;
Tensor<bool, Extents<4>> flags;
Tensor<float, Extents<4, 3>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(sort<2>(x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(argsort<0>(flags)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(sort<0>(rows)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(sort_by_key<2>(x, x).first); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(sort_by_key(flags, flags).second); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(sort_by_key<0>(rows, rows).first); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(sort_by_key(x, flags).first); }
#else
auto proper() { return eval(grad(sum(sort<0>(x)), x)); }
auto also_proper() { return eval(sort_by_key<0>(rows_of_keys, x).second); }
#endif
