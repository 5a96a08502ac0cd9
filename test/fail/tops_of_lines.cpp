// SPDX-License-Identifier: Apache-2.0
// top_k: axes that are not there, elements without an order of keys, more elements than a line has.
// expect-1: locus: top_k names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: top_k takes numbers with an order; write top_k<5>(cast<int>(x)) for booleans, and top_k<5>(abs(x)) or top_k<5>(real(x)) for complex numbers
// expect-3: locus: top_k takes 1 element of a line or more, and not more than the line has; write top_k<5>(x), and the axis as the second number: top_k<5, 0>(x)
// expect-4: locus: top_k takes 1 element of a line or more, and not more than the line has; write top_k<5>(x), and the axis as the second number: top_k<5, 0>(x)
#include <locus/algorithms/top_k.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
Tensor<float, Extents<4, 3>, Sharded<0, Cpu<0>, Cpu<1>>> rows;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return top_k<2, 2>(x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return top_k<2>(flags); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return top_k<4>(x); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return top_k<0, 0>(rows, smallest); }
#else
auto proper() { return eval(grad(sum(result<0>(top_k<4, 0>(x))), x)); }
#endif
