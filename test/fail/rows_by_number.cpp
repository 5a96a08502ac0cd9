// SPDX-License-Identifier: Apache-2.0
// Rows by number: axes that are not there, numbers that are no integers or have no order, pieces that no kernel reads.
// expect-1: locus: take names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-2: locus: take reads integer indices; write take(x, cast<int>(i))
// expect-3: locus: a fold of segments names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-4: locus: a fold of segments reads integer ids; write segment_sum<10>(x, cast<int>(ids))
// expect-5: locus: a fold has fewer than 0 segments; write segment_sum<10>(x, ids), or segment_sum(x, ids, n)
// expect-6: locus: a fold has fewer than 0 segments; write segment_sum<10>(x, ids), or segment_sum(x, ids, n)
// expect-7: locus: segment_max and segment_min take numbers with an order; write segment_sum<10>(x, ids), which counts booleans, and segment_max<10>(abs(x), ids) or segment_max<10>(real(x), ids) for complex numbers
// expect-8: locus: scatter_add names an axis that its operand does not have; axes count from 0, or from -1 backwards
// expect-9: locus: the shapes of the operands of a functor do not fit; they are printed below
// expect-10: locus: this operation has no kernel for pieces along the cut of its operands; gather first with to<Mirrored<...>>(x) or to<Device>(x), or cut another axis
// expect-11: locus: segment_max and segment_min take numbers with an order; write segment_sum<10>(x, ids), which counts booleans, and segment_max<10>(abs(x), ids) or segment_max<10>(real(x), ids) for complex numbers
#include <locus/algorithms/segment_sum.hpp>
#include <locus/algorithms/take.hpp>
#include <locus/complex.hpp>
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4, 3>> x;
Tensor<bool, Extents<4>> flags;
Tensor<int, Extents<4>> ids;
Tensor<complex<double>, Extents<4>> waves;
Tensor<int, Extents<3>> fewer;
Tensor<float, Extents<4>> numbers_of_rows;
Tensor<int, Extents<4, 3>, Sharded<1, Cpu<0>, Cpu<1>>> columns;
Tensor<float, Extents<4, 3>, Mirrored<Cpu<0>, Cpu<1>>> whole;
#if LOCUS_MUST_FAIL == 1
auto misuse() { return eval(take<2>(x, ids)); }
#elif LOCUS_MUST_FAIL == 2
auto misuse() { return eval(take(x, numbers_of_rows)); }
#elif LOCUS_MUST_FAIL == 3
auto misuse() { return eval(segment_sum<10, -3>(x, ids)); }
#elif LOCUS_MUST_FAIL == 4
auto misuse() { return eval(segment_max(x, numbers_of_rows, 10)); }
#elif LOCUS_MUST_FAIL == 5
auto misuse() { return eval(segment_sum<-4>(x, ids)); }
#elif LOCUS_MUST_FAIL == 6
auto misuse() { return eval(segment_min<dyn>(x, ids)); }
#elif LOCUS_MUST_FAIL == 7
auto misuse() { return eval(segment_max<10>(flags, ids)); }
#elif LOCUS_MUST_FAIL == 8
auto misuse() { return eval(scatter_add<2>(x, ids, x)); }
#elif LOCUS_MUST_FAIL == 9
auto misuse() { return eval(segment_sum<10>(x, fewer)); }
#elif LOCUS_MUST_FAIL == 10
auto misuse() { return eval(take(whole, columns)); }
#elif LOCUS_MUST_FAIL == 11
auto misuse() { return eval(segment_min<10>(waves, ids)); }
#else
auto besides() {
  return eval(segment_max<10>(abs(waves), ids) + real(segment_sum<10>(waves, ids)));
}
auto proper() { return eval(segment_sum<10>(take(x, ids), ids)); }
#endif
