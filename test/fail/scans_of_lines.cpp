// SPDX-License-Identifier: Apache-2.0
// Scans: axes that are not there, extrema of booleans and of complex numbers, a derivative that does not exist; functors that do not fold.
// expect-1: locus: a scan names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: a scan names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-3: locus: cummax and cummin take numbers with an order; write cummax<0>(cast<int>(x)) for booleans, and cummax<0>(abs(x)) or cummax<0>(real(x)) for complex numbers
// expect-4: locus: no gradient passes an operation of the loss, which is printed below; give it a derivative(y, x...) or a pullback(g, y, x...) of expressions, or write stop_gradient(e) around it
// expect-5: locus: scan or reduce names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-6: locus: scan and reduce fold by an f(a, b) of two elements that gives an element; it is called with floats for halves
// expect-7: locus: a fold begins with a number of the elements' kind; write cast, or a number of that type
// expect-8: locus: cummax and cummin take numbers with an order; write cummax<0>(cast<int>(x)) for booleans, and cummax<0>(abs(x)) or cummax<0>(real(x)) for complex numbers
#include <locus/algorithms/by_functor.hpp>
#include <locus/algorithms/scan.hpp>
#include <locus/complex.hpp>
#include <locus/grad/grad.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<double, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
Tensor<int, Extents<4>> whole;
Tensor<complex<double>, Extents<4>> waves;
struct larger {
  double operator()(double a, double b) const { return a > b ? a : b; }
};
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(cumsum<2>(x)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(cummin<-3>(x, exclusive)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(cummax<0>(flags, from_end)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(grad(sum(cummax<0>(x)), x)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(scan<2>(x, larger{})); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() {
  return eval(reduce<0>(x, [](double a) { return a; }, 1));
}
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(reduce<0>(whole, larger{}, 1.5)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(cummin<0>(waves)); }
#else
auto of_waves() { return eval(cummax<0>(abs(waves)) + cummin<0>(real(cumprod<0>(waves)))); }
auto proper() { return eval(grad(sum(cumsum<0>(x)), x)); }
auto besides() { return eval(reduce<0>(scan<-1>(x, larger{}, 2), larger{}, 1)); }
#endif
