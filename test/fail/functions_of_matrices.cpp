// SPDX-License-Identifier: Apache-2.0
// Functions of matrices over what is no matrix, or no square one; sides of equations that do not fit.
// expect-1: locus: a function of matrices takes one matrix, or a batch of them with three axes; reshape its operand
// expect-2: locus: a function of matrices takes float or double; write cast<float>(x)
// expect-3: locus: this function takes square matrices, with as many rows as columns; slice its operand, or use qr or svd
// expect-4: locus: the right side of solve has as many axes as its matrices, or one beside a single matrix; reshape it
// expect-5: locus: both sides of solve have the same element type; write cast<double>(b)
#include <locus/grad/grad.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/solve.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<3, 3>> a;
Tensor<double, Extents<2, 3>> oblong;
Tensor<double, Extents<3>> b;
Tensor<double, Extents<2, 3, 3>> batch;
Tensor<float, Extents<3>> narrow;
Tensor<int, Extents<3, 3>> whole;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return cholesky(b); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return cholesky(whole); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return inverse(oblong); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return solve(batch, b); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return solve(a, narrow); }
#else
auto proper() { return eval(solve(cholesky(a), b)); }
#endif
