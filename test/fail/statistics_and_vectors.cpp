// SPDX-License-Identifier: Apache-2.0
// Variances, vectors and grids: axes that are not there or named twice, integers, other ranks and lengths.
// expect-1: locus: a variance names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: a variance names an axis twice; name it once
// expect-3: locus: a variance is one of floats; write var(cast<float>(x))
// expect-4: locus: dot multiplies two vectors; write matmul(a, b) for matrices, or sum<-1>(a * b) for rows
// expect-5: locus: dot multiplies vectors of one length; write sum(x) * y for one element y
// expect-6: locus: outer multiplies two vectors; write expand_dims<-1>(x) * y for arrays of more axes
// expect-7: locus: linspace makes floats; write iota<int>(extents, first, by) for integers
// expect-8: locus: 'sqrt' does not take these element types together; write cast<float>(x) or another type
#include <locus/locus.hpp>
#include <locus/ops/grids.hpp>
#include <locus/ops/statistics.hpp>
#include <locus/ops/vectors.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<double, Extents<4>> v;
Tensor<double, Extents<1>> one;
Tensor<int, Extents<4>> counts;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(var<2>(x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(var<0, -2>(x, ddof{1})); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(var(counts)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(dot(x, v)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(dot(v, one)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(outer(x, v)); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(linspace<int, 5>(0, 4)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(norm(counts)); }
#else
auto proper() {
  return eval(var<0>(outer(v, v)) * dot(v, v) * norm(v) * linspace<double, 4>(0, 1));
}
#endif
