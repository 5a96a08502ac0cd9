// SPDX-License-Identifier: Apache-2.0
// An operation whose bits depend on the library, in a reproducible plan.
// expect: locus: an operation of a reproducible plan has other bits on other devices (exp, log, matmul, functors of your own); compute it apart with eval(e), or write exact<>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
#ifdef LOCUS_MUST_FAIL
auto misuse() { return eval<reproducible<>>(exp(x) + x); }
#else
auto proper() { return eval<reproducible<>>(eval(exp(x)) + x); }
#endif
