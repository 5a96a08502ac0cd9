// SPDX-License-Identifier: Apache-2.0
// Histograms: numbers of bins that are none, elements without bins, edges of another type or shape.
// expect-1: locus: a histogram has 0 to 2147483646 bins; write histogram<10>(x, 0., 1.) or bincount<10>(ids), or give a number that is known when the program runs as the last argument
// expect-2: locus: a histogram has 0 to 2147483646 bins; write histogram<10>(x, 0., 1.) or bincount<10>(ids), or give a number that is known when the program runs as the last argument
// expect-3: locus: histogram takes numbers with an order; write bincount<2>(cast<int>(x)) or sum(x) for booleans, and histogram<10>(abs(x), 0., 1.) or histogram<10>(real(x), 0., 1.) for complex numbers
// expect-4: locus: histogram compares elements with edges of their own type; write histogram(x, cast<float>(edges)) for a tensor of floats
// expect-5: locus: the edges of a histogram have one axis; write histogram(x, reshape<11>(edges))
// expect-6: locus: bincount reads integer ids; write bincount<10>(cast<int>(x)), or histogram<10>(x, 0., 1.)
// expect-7: locus: histogram takes numbers with an order; write bincount<2>(cast<int>(x)) or sum(x) for booleans, and histogram<10>(abs(x), 0., 1.) or histogram<10>(real(x), 0., 1.) for complex numbers
// expect-8: locus: histogram takes numbers with an order; write bincount<2>(cast<int>(x)) or sum(x) for booleans, and histogram<10>(abs(x), 0., 1.) or histogram<10>(real(x), 0., 1.) for complex numbers
#include <locus/algorithms/histogram.hpp>
#include <locus/complex.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
Tensor<int, Extents<4>> ids;
Tensor<complex<double>, Extents<4>> waves;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(histogram<-3>(x, 0, 1)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(bincount<dyn>(ids)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(histogram(flags, 0, 1, 2)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(histogram(x, ids)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(histogram(x, x)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(bincount(x, 10)); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(histogram<3>(waves, 0, 1)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(histogram(waves, waves)); }
#else
auto besides() { return eval(histogram<3>(abs(waves), 0, 1) + histogram<3>(real(waves), 0, 1)); }
auto proper() { return eval(histogram<3>(x, 0, 1) + bincount<3>(ids)); }
#endif
