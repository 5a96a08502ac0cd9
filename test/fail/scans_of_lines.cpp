// SPDX-License-Identifier: Apache-2.0
// Scans: axes that are not there, extrema of booleans, a derivative that does not exist.
// expect-1: locus: a scan names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: a scan names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-3: locus: cummax and cummin take numbers; write cummax<0>(cast<int>(x))
// expect-4: locus: no gradient passes an operation of the loss, which is printed below; give it a derivative(y, x...) or a pullback(g, y, x...) of expressions, or write stop_gradient(e) around it
#include <locus/algorithms/scan.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(cumsum<2>(x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(cummin<-3>(x, exclusive)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(cummax<0>(flags, from_end)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(grad(sum(cummax<0>(x)), x)); }
#else
auto proper() { return eval(grad(sum(cumsum<0>(x)), x)); }
#endif
