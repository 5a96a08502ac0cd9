// SPDX-License-Identifier: Apache-2.0
// Operands whose static extents do not broadcast, contract or join.
// expect-1: locus: the shapes of the operands of 'add' do not fit; they are printed below
// expect-2: locus: the shapes of the operands of 'matmul' do not fit; they are printed below
// expect-3: locus: the shapes of the operands of 'concatenate' do not fit; they are printed below
// expect-4: locus: the shapes of the operands of 'reshape' do not fit; they are printed below
// expect-5: locus: the shapes of the operands of 'transpose' do not fit; they are printed below
// expect-6: locus: the shapes of the operands of 'slice' do not fit; they are printed below
// expect-7: locus: the shapes of the operands of a functor do not fit; they are printed below
// expect-8: locus: the shapes of the operands of 'hypot' do not fit; they are printed below
#include <locus/locus.hpp>
using namespace locus;

struct Hypot {
  LOCUS_OPERATION("hypot", on_cpu)
  float operator()(float x, float y) const { return x * x + y * y; }
};
Tensor<float, Extents<2, 3>> a;
Tensor<float, Extents<3, 2>> b;
Tensor<float, Extents<1, 3>> c;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return a + b; }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return matmul(a, a); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return concatenate<0>(a, b); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return reshape<4, 2>(a); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return transpose<0, 0>(a); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return slice<1, 0, 5>(a); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() {
  return map([](float x, float y) { return x * y; }, a, b);
}
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return map(Hypot{}, a, b); }
#else
auto proper() { return map(Hypot{}, a, c) + reshape<2, 3>(b); }
#endif
