// SPDX-License-Identifier: Apache-2.0
// Assignments to what is no place: slices, other expressions, views without a name.
// expect-1: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-2: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-3: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-4: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-5: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-6: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-7: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-8: locus: an expression is computed, not written, so that nothing is assigned here; write run(into(slice(x, ...), e)), or x = e for a whole tensor
// expect-9: locus: a view without a name would look elsewhere, and no element is copied; write run(into(view<Where>(data, extents), e))
#include <locus/locus.hpp>
using namespace locus;

Tensor<float, Extents<4>> x, y;
#if LOCUS_MUST_FAIL == 1
void misuse() { slice(x, {0, 2}) = slice(y, {0, 2}); }
#elif LOCUS_MUST_FAIL == 2
void misuse() { slice(x, {0, 2}) = 0.f; }
#elif LOCUS_MUST_FAIL == 3
void misuse() { slice(x, {0, 2}) = slice(y, {0, 2}) * 2.f; }
#elif LOCUS_MUST_FAIL == 4
void misuse() {
  auto part = slice(x, {0, 2});
  part = slice(y, {0, 2});
}
#elif LOCUS_MUST_FAIL == 5
void misuse() { slice(x, {0, 2}) += 1.f; }
#elif LOCUS_MUST_FAIL == 6
void misuse() { reshape(x, Extents<2, 2>{}) = reshape(y, Extents<2, 2>{}); }
#elif LOCUS_MUST_FAIL == 7
void misuse() { x + y = y; }
#elif LOCUS_MUST_FAIL == 8
void misuse() { named<"h">(x) = y; }
#elif LOCUS_MUST_FAIL == 9
void misuse() { view<CpuDevice>(x.data(), Extents<4>{}) = view<CpuDevice>(y.data(), Extents<4>{}); }
#else
void proper() {
  run(into(slice(x, {0, 2}), slice(y, {0, 2})));
  view<CpuDevice>(x.data(), Extents<4>{}) = y * 2.f;
  auto seen = view<CpuDevice>(x.data(), Extents<4>{});
  seen = view<CpuDevice>(y.data(), Extents<4>{});
  auto sum = x + y, other = sum;
  x = std::move(other);
}
#endif
