// SPDX-License-Identifier: Apache-2.0
// A number where a tensor stands, and the other way round.
// expect-1: locus: an expression is no number, its value may lie on a GPU; write fetch(e)
// expect-2: locus: fetch takes a tensor or an expression, not a number
// expect-3: locus: eval takes a tensor or an expression, not a number
// expect-4: locus: matmul takes two matrices; a tensor times a number is a * 2.f
// expect-5: locus: cast needs an element type; write cast<float>(x)
// expect-6: locus: a generator takes extents; write zeros<float>(Extents<3>{}), or zeros<float>(dextents<1>{n})
// expect-7: locus: a generator takes extents; write zeros<float>(Extents<3>{}), or zeros<float>(dextents<1>{n})
// expect-8: locus: a generator of integers is given a fraction; write full<float>(...), or an integer
// expect-9: locus: a generator of integers is given a fraction; write full<float>(...), or an integer
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<2, 2>> a;
#if LOCUS_MUST_FAIL == 1
float misuse() { return sum(a); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return fetch(3.f); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(3.f); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return matmul(a, 2.f); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return cast(a); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return zeros<float>(3); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return uniform<float>(3, seed{1}); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return full<int>(Extents<3>{}, 0.5); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return iota<int>(Extents<3>{}, 0, 1.5f); }
#else
auto fractions() { return full<float>(Extents<3>{}, 0.5) + iota<float>(Extents<3>{}, 0, 0.5); }
auto integers() { return full<int>(Extents<3>{}, 'a') + iota<int>(Extents<3>{}, 0, 2u); }
float proper() {
  return fetch(sum(matmul(a, zeros<float>(Extents<2, 2>{}) * 2.f + cast<float>(a))));
}
#endif
