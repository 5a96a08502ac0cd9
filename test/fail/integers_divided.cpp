// SPDX-License-Identifier: Apache-2.0
// Integers divided by /: three divisions are meant by it.
// expect: locus: / of integers is ambiguous; write floor_div(a, b), trunc_div(a, b) or true_div(a, b)
#include <locus/locus.hpp>
using namespace locus;

#ifdef LOCUS_MUST_FAIL
auto misuse(Tensor<int, Extents<2>>& a) { return a / 2; }
#else
auto proper(Tensor<int, Extents<2>>& a) { return floor_div(a, 2); }
#endif
