// SPDX-License-Identifier: Apache-2.0
// Searches: sorted elements along two axes, elements of two types, booleans, complex numbers.
// expect-1: locus: search_sorted reads sorted elements along one axis; write search_sorted(reshape<12>(s), x)
// expect-2: locus: search_sorted compares numbers of one type with an order; write search_sorted(s, cast<float>(x)) for sorted floats, and abs(x) or real(x) for complex numbers
// expect-3: locus: search_sorted compares numbers of one type with an order; write search_sorted(s, cast<float>(x)) for sorted floats, and abs(x) or real(x) for complex numbers
// expect-4: locus: search_sorted compares numbers of one type with an order; write search_sorted(s, cast<float>(x)) for sorted floats, and abs(x) or real(x) for complex numbers
#include <locus/algorithms/search_sorted.hpp>
#include <locus/complex.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4, 3>> x;
Tensor<float, Extents<5>> s;
Tensor<int, Extents<4>> whole_numbers;
Tensor<bool, Extents<4>> flags;
Tensor<complex<float>, Extents<4>> waves;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(search_sorted(x, s)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(search_sorted(s, whole_numbers)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(search_sorted(flags, flags, behind_equal)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(search_sorted(waves, waves)); }
#else
auto besides() { return eval(search_sorted(s, abs(waves)) + search_sorted(s, real(waves))); }
auto proper() { return eval(search_sorted(s, x) + search_sorted(s, x, behind_equal)); }
#endif
