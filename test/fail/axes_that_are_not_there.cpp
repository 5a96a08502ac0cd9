// SPDX-License-Identifier: Apache-2.0
// Reductions and softmax along axes that their operand does not have.
// expect-1: locus: a reduction names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: a reduction names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-3: locus: a reduction names an axis twice; name it once
// expect-4: locus: softmax names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-5: locus: the shapes of the operands of 'expand_dims' do not fit; they are printed below
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 3>> x;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return sum<2>(x); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return argmax<-3>(x); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return max<1, -1>(x); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return softmax<2>(x); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return expand_dims<4>(x); }
#else
auto proper() { return sum<1>(softmax<1>(x)); }
#endif
