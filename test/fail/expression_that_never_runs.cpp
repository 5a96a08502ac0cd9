// SPDX-License-Identifier: Apache-2.0
// Expressions, assignments and plans as statements: nothing would run.
// expect-1: locus: an expression runs nothing by itself; assign it, or write eval(e)
// expect-2: locus: an expression runs nothing by itself; assign it, or write eval(e)
// expect-3: locus: an assignment with a name runs nothing by itself; write run(into(y, e))
// expect-4: locus: a plan runs nothing by itself; write run(step)
// flags: -Werror
// only: host
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x;
void statement() {
#if LOCUS_MUST_FAIL == 1
  matmul(transpose(expand_dims<0>(x)), expand_dims<0>(x));
#elif LOCUS_MUST_FAIL == 2
  named<"twice">(2.f * x);
#elif LOCUS_MUST_FAIL == 3
  into(x, 2.f * x);
#elif LOCUS_MUST_FAIL == 4
  plan(into(x, 2.f * x));
#else
  run(into(x, 2.f * x));
#endif
}
