// SPDX-License-Identifier: Apache-2.0
// Element types that no operation takes together.
// expect-1: locus: 'add' does not take these element types together; write cast<float>(x) or another type
// expect-2: locus: 'multiply' does not take these element types together; write cast<float>(x) or another type
// expect-3: locus: 'exp' does not take these element types together; write cast<float>(x) or another type
// expect-4: locus: 'matmul' does not take these element types together; write cast<float>(x) or another type
// expect-5: locus: 'mean' does not take these element types together; write cast<float>(x) or another type
// expect-6: locus: 'softmax' does not take these element types together; write cast<float>(x) or another type
// expect-7: locus: 'logical_and' does not take these element types together; write cast<float>(x) or another type
// expect-8: locus: 'concatenate' does not take these element types together; write cast<float>(x) or another type
// expect-9: locus: 'where' does not take these element types together; write cast<float>(x) or another type
// expect-10: locus: a functor does not take these element types; write cast<float>(x) or another overload
// expect-11: locus: 'squared' does not take these element types together; write cast<float>(x) or another type
// expect-12: locus: 'add' does not take these element types together; write cast<float>(x) or another type
// expect-13: locus: 'matmul' does not take these element types together; write cast<float>(x) or another type
#include <locus/locus.hpp>
using namespace locus;

struct Name {
  char text[8];
};
struct Squared {
  float operator()(float x) const { return x * x; }
};
struct NamedSquared {
  LOCUS_OPERATION("squared", on_cpu)
  float operator()(float x) const { return x * x; }
};
Tensor<float, Extents<2, 2>> f;
Tensor<int, Extents<2, 2>> i;
Tensor<Name, Extents<2, 2>> n;
Tensor<half, Extents<2, 2>> h;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return f + i; }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return 2.5 * i; }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return exp(i); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return matmul(f, i); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return mean(i); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return softmax(i); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return f && i; }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return concatenate<0>(f, i); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return where(f, f, f); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return map(Squared{}, n); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() { return map(NamedSquared{}, n); }
#elif LOCUS_MUST_FAIL == 12
auto misuse() { return h + i; }
#elif LOCUS_MUST_FAIL == 13
auto misuse() { return matmul(h, f); }
#else
auto half_with_float() { return h + f; }
auto proper() { return where(f > 0.f, f + cast<float>(i), 2 * f); }
#endif
