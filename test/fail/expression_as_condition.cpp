// SPDX-License-Identifier: Apache-2.0
// An expression where a condition stands: its value may lie on a GPU.
// expect-1: locus: an expression is no condition, its value may lie on a GPU; write if (fetch(e))
// expect-2: locus: an expression is no condition, its value may lie on a GPU; write if (fetch(e))
// expect-3: locus: an expression is no condition, its value may lie on a GPU; write if (fetch(e))
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>, GpuDevice<0>> x;
#if LOCUS_MUST_FAIL == 1
bool misuse() { return sum(x) < 1.f ? true : false; }
#elif LOCUS_MUST_FAIL == 2
void misuse() {
  if (all(x == x)) x = 2.f * x;
}
#elif LOCUS_MUST_FAIL == 3
void misuse() {
  let(all(x > 0.f), [](auto positive) {
    if (positive) x = 2.f * x;
  });
}
#else
bool proper() { return fetch(sum(x) < 1.f); }
#endif
