// SPDX-License-Identifier: Apache-2.0
// Calls that newcomers try first; each sentence has the remedy.
// expect-1: locus: a tensor is made from one on another device, or of other elements, and nothing says so; write Tensor<...> t(x), or t(cast<T>(x))
// expect-2: locus: a tensor is made from one on another device, or of other elements, and nothing says so; write Tensor<...> t(x), or t(cast<T>(x))
// expect-3: locus: a pointer does not say how many elements there are; write Tensor<...> t(view<CpuDevice>(p, extents))
// expect-4: locus: a Tensor takes one number for each open extent, or for each extent, and none where all are known; write t(2, 3) of Dextents<2>
// expect-5: locus: a Tensor takes one number for each open extent, or for each extent, and none where all are known; write t(2, 3) of Dextents<2>
// expect-6: locus: a Tensor is made with extents of another rank; write as many as its type has
// expect-7: locus: a reduction takes one tensor, and its axes as template arguments; write sum<0>(x), or maximum(x, y) for the larger of two
// expect-8: locus: a reduction takes one tensor, and its axes as template arguments; write sum<0>(x), or maximum(x, y) for the larger of two
// expect-9: locus: on<> names its device as a template argument; write on<"/GPU:0">(e), or with_device(name, f) for a name that is known when the program runs
// expect-10: locus: concatenate names its axis; write concatenate<0>(x, y)
// expect-11: locus: map takes its function first; write map(f, x)
// expect-12: locus: a view names its device; write view<CpuDevice>(data, extents)
// expect-13: locus: an expression has no elements before it is computed; write fetch(e)(i, j)
// expect-14: locus: an expression has no elements before it is computed; write fetch(e)(i, j)
// expect-15: locus: an element needs one index for each axis; write t(i, j) of rank 2
// expect-16: locus: a number of another kind is assigned to a tensor; write one of its element type
// expect-17: locus: random numbers begin with a seed; write uniform<float>(extents, seed{1}, low, high) or normal<float>(extents, seed{1}, mean, deviation)
#include <locus/locus.hpp>
using namespace locus;

using E = Extents<2, 3>;
Tensor<float, E> a;
Tensor<int, E> whole;
struct half_of {
  float operator()(float x) const { return x / 2; }
};
#if LOCUS_MUST_FAIL == 1
void misuse() { Tensor<float, E, GpuDevice<0>> g = a; }
#elif LOCUS_MUST_FAIL == 2
void misuse() { Tensor<double, E> d = a; }
#elif LOCUS_MUST_FAIL == 3
void misuse(float* p) { Tensor<float, Dextents<1>> t(p, 6); }
#elif LOCUS_MUST_FAIL == 4
void misuse() { Tensor<float, Dextents<2>> t(3); }
#elif LOCUS_MUST_FAIL == 5
void misuse() { Tensor<float, E> t(2, 3); }
#elif LOCUS_MUST_FAIL == 6
void misuse() { Tensor<float, Dextents<2>> t(dextents<3>(1, 2, 3)); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(sum(a, 0)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(max(a, 0.f)); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return eval(on(a, "/GPU:0")); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return eval(concatenate(a, a)); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() { return eval(map(a, half_of{})); }
#elif LOCUS_MUST_FAIL == 12
auto misuse(float* p) { return eval(view(p, dextents<1>(6)) * 2.f); }
#elif LOCUS_MUST_FAIL == 13
float misuse() { return (a + a)(0, 1); }
#elif LOCUS_MUST_FAIL == 14
float misuse() { return (a + a)[0]; }
#elif LOCUS_MUST_FAIL == 15
float misuse() { return a[0]; }
#elif LOCUS_MUST_FAIL == 16
void misuse() { whole = 2.5; }
#elif LOCUS_MUST_FAIL == 17
auto misuse() { return eval(uniform<float>(E{})); }
#else
void proper(float* p) {
  Tensor<float, E, GpuDevice<0>> g(a);
  Tensor<double, E> d(cast<double>(a));
  Tensor<float, E> back = g, made = eval(a + a);
  Tensor<float, Dextents<1>> t(view<CpuDevice>(p, dextents<1>(6))), line = eval(map(half_of{}, t));
  Tensor<float, Dextents<2>> open, of(E{}), room(2, 3);
  open.resize(2, 3);
  swap(open, room);
  whole = 2, back = 1;
  line[0] = fetch(maximum(a, on<"/GPU:0">(a)))(0, 1) + fetch(max(sum<0>(concatenate<0>(a, made))));
}
#endif
