// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and parts along axes that their operand does not have.
// expect-1: locus: a reduction names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: a reduction names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-3: locus: a reduction names an axis twice; name it once
// expect-4: locus: softmax names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-5: locus: the shapes of the operands of 'expand_dims' do not fit; they are printed below
// expect-6: locus: at names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-7: locus: row_at takes a matrix; write at<0>(x, i) for another array
// expect-8: locus: column_at takes a matrix; write at<1>(x, j) for another array
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
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return at<2>(x, 0); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return row_at(expand_dims<0>(x), 0); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return column_at(sum<0>(x), 0); }
#else
auto proper() {
  return sum<1>(softmax<1>(x)) + at<-1>(x, 0) + column_at(x, 1) + row_at(transpose(x), 0);
}
#endif
